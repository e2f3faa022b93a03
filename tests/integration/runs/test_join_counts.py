"""What a run says of the rows that its joins found nothing for: in the report, the summary and the log."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_provider_runtime.core.registry.sql import open_registry
from tests.command_line import invoke
from tests.integration.runs.workplace import Workplace, make_output, make_project, make_update

pytestmark = [pytest.mark.spark, pytest.mark.integration, pytest.mark.usefixtures("commands_share_spark")]
REGIONS = """
dataset:
  id: regions
  name: Regions
  version: 1
  main_table:
    name: regions
    columns: [{name: shop, type: string}, {name: region, type: string}]
"""


@pytest.fixture
def shops(tmp_path: Path, spark: SparkSession) -> Iterator[Workplace]:
    """Thirty shops, of which the regions of two are known; one has a budget, and no region."""
    url = f"sqlite:///{tmp_path}/registry.db"
    registry = open_registry(url)
    workplace = Workplace(tmp_path, registry, spark, url)
    workplace.write_sales("2026-01", **{f"shop{number:02d}": "1.00" for number in range(30)})
    workplace.write_catalog("regions.yaml", REGIONS)
    place = workplace.folder / "data" / "regions" / "2026-01.csv"
    place.parent.mkdir(parents=True)
    place.write_text("shop,region\nshop00,north\nshop01,south\nshop99,west\n")
    yield workplace
    registry.close()


def run(
    shops: Workplace, *, required: bool = False, selector: str = 'shop != "shop29"'
) -> tuple[int, str, dict[str, Any]]:
    join = {"alias": "r", "dataset_id": "regions", "on": "sales.shop = r.shop", "required": required}
    place = make_update(10, [join], region="r.region") | {"selector": selector}
    shops.write_catalog("p.yaml", make_project("p", [place, make_output(20, "placed", columns=["shop", "region"])]))
    report = shops.folder / "report.json"
    said = invoke(
        "run", "--project", "p", "--period", "2026-01", "--catalog", shops.folder / "catalog",
        "--registry", shops.url, "--report", report,
    )  # fmt: skip
    return said.exit_code, said.output, json.loads(report.read_text("utf-8"))


def test_touched_rows_without_a_match_are_counted_in_report_summary_and_log(shops: Workplace) -> None:
    status, said, report = run(shops)
    assert status == 0, said
    assert report["operations"][0]["joins"] == [{"alias": "r", "matched": 2, "unmatched": 27}]
    assert re.search(r"seq +join +rows with a match +without\n *10 +r +2 +27\n", said)
    assert "operation 10 join 'r': 2 rows with a match, 27 without" in said


def test_required_join_names_twenty_keys_with_their_rows(shops: Workplace) -> None:
    status, said, report = run(shops, required=True)
    assert status == 1, said
    assert report["error"]["code"] == "JOIN_011"
    assert len(re.findall(r"shop = shop\d\d \(1 row\)", report["error"]["message"])) == 20
    assert "more than 21 rows: " in report["error"]["message"]
    assert report["error"]["message"].endswith(", and others")
    assert not list((shops.folder / "out" / "placed").glob("**/*.parquet"))


def test_required_join_asks_only_for_the_rows_that_the_selector_picks(shops: Workplace) -> None:
    status, said, report = run(shops, required=True, selector='shop < "shop02"')
    assert status == 0, said
    assert report["operations"][0]["joins"] == [{"alias": "r", "matched": 2, "unmatched": 0}]
