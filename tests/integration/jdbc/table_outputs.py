"""Outputs of the tests that publish over JDBC, and what their tables hold."""

from __future__ import annotations

from typing import Any

from spark_jobs.contract.operations import Destination, OutputOperation
from tests.integration.jdbc.conftest import Warehouse
from tests.spark_jobs.publishing import (
    make_output,
)


def make_table_output(warehouse: Warehouse, table: str = "fx", **changes: Any) -> OutputOperation:
    destination = Destination(
        "jdbc",
        "jdbc",
        f"dwh/{table}",
        table=table,
        options={"url": warehouse.jdbc_url},
        credential_ref="env://WAREHOUSE",
    )
    return make_output(destination=destination, **changes)


def read_table(warehouse: Warehouse, table: str = "fx") -> list[str]:
    return [name for (name,) in warehouse.query(f'SELECT name FROM "{table}" ORDER BY name')]


def list_stage_tables(warehouse: Warehouse) -> list[str]:
    return [name for (name,) in warehouse.query("SELECT tablename FROM pg_tables WHERE tablename LIKE 'rt_stage_%'")]
