"""`why` on a run that has published to a database table: the proof is the row that the table holds."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_provider_runtime.core.registry.sql import open_registry
from spark_jobs.contract.why import Difference, OutputProof
from tests.integration.jdbc.conftest import Warehouse
from tests.integration.runs.test_why import PERIOD, why
from tests.integration.runs.workplace import Workplace, make_output, make_project, make_update

pytestmark = [pytest.mark.spark, pytest.mark.integration]


def test_row_is_compared_with_the_one_in_the_table(spark: SparkSession, warehouse: Warehouse, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/registry.db"
    books = Workplace(tmp_path, open_registry(url), spark, url)
    options = {"url": warehouse.jdbc_url}
    datasource = {"id": "dwh", "type": "jdbc", "options": options, "credential_ref": "env://WAREHOUSE"}
    output = make_output(20, "lines", key=["shop"])
    output["arguments"]["destination"] = {"datasource_id": "dwh", "table": "lines"}
    operations = [make_update(10, doubled="amount * 2"), output]
    books.write_catalog("project.yaml", [{"datasource": datasource}, make_project("close", operations)])
    books.write_sales(PERIOD, north="10.00", south="4.00")
    books.run("close", PERIOD)

    def prove() -> OutputProof:
        (row,) = why(books, where='shop = "north"').rows
        assert {change.column: change.after for change in row.steps[1].changes}["doubled"] == "20.00"
        return row.outputs[0]

    proof = prove()
    assert (proof.selected, proof.published, proof.equal, proof.differences) == (True, True, True, ())
    warehouse.connection.execute("UPDATE lines SET doubled = 21 WHERE shop = 'north'")
    proof = prove()
    assert (proof.published, proof.equal) == (True, False)
    assert proof.differences == (Difference("doubled", "20.00", "21.00"),)
    warehouse.connection.execute("DELETE FROM lines WHERE shop = 'north'")
    assert (prove().published, prove().equal) == (False, False)
    books.registry.close()
