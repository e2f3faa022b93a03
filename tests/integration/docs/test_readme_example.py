"""The README's project, on the README's data, gives the README's table; its DAG file makes the DAG."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.command_line import BIN, call, invoke

README = (Path(__file__).resolve().parents[3] / "README.md").read_text("utf-8")
EXAMPLE = README[README.index("## A complete project") : README.index("## What it guarantees")]

pytestmark = [pytest.mark.integration, pytest.mark.spark, pytest.mark.timeout(300)]


def find_snippets(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", EXAMPLE, re.MULTILINE | re.DOTALL)


def read_table() -> list[list[str]]:
    lines = [line for line in EXAMPLE.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in cells if not set("".join(row)) <= {"-"}]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shop")
    sales, rates = find_snippets("csv")
    files = {"shop.yaml": find_snippets("yaml")[0], "data/sales/2026-01.csv": sales, "data/rates.csv": rates}
    for name, text in files.items():
        assert name == "shop.yaml" or f"`catalog/{name}`" in EXAMPLE
        path = folder / "catalog" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


@pytest.mark.usefixtures("commands_share_spark")
def test_run_writes_the_table_of_the_readme(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = "airflow-runtime run --project shop-sales --period 2026-01"
    place = "catalog/out/shop_sales/period=2026-01/"
    assert f"`{command}`" in EXAMPLE
    assert f"`{place}`" in EXAMPLE
    monkeypatch.chdir(shop)
    done = invoke(*command.split()[1:])
    assert done.exit_code == 0, done.output

    titles, *expected = read_table()
    rows = [row for file in (shop / place).glob("*.parquet") for row in pq.ParquetFile(file).read().to_pylist()]
    assert sorted([str(row[title]) for title in titles] for row in rows) == expected


@pytest.mark.airflow
def test_dag_file_makes_the_dag(shop: Path) -> None:
    (shop / "projects.py").write_text(find_snippets("python")[0], encoding="utf-8")
    show = "import runpy; print(runpy.run_path('projects.py')['shop-sales'].task_ids)"
    shown = call(shop, "python", "-c", show, AIRFLOW_HOME=str(shop / "airflow"))
    assert "['resolve', 'run']" in shown
    assert shutil.which("airflow", path=str(BIN))
