"""Tables over JDBC: as sources, as outputs, and what they hold."""

from __future__ import annotations

from typing import Any

from spark_jobs.contract.operations import Destination, OutputOperation
from tests.integration.jdbc.conftest import Warehouse
from tests.integration.mariadb import MariaDb
from tests.spark_jobs.plan_builders import Columns
from tests.spark_jobs.publishing import make_output

COLUMNS: Columns = [
    ("id", "bigint"),
    ("order", "bigint"),
    ("amount", "decimal(38,18)"),
    ("cents", "decimal(18,2)"),
    ("day", "date"),
    ("at", "timestamp"),
    ("local", "timestamp"),
    ("note", "string"),
    ("ok", "boolean"),
]
"""Columns of every type, one with a name that SQL has to quote."""


def locate(database: Warehouse | MariaDb, table: str = "tx", **options: str) -> dict[str, Any]:
    return {
        "kind": "jdbc",
        "format": "jdbc",
        "table": table,
        "options": {"url": database.jdbc_url, **options},
        "credential_ref": "env://WAREHOUSE",
    }


def make_table_output(database: Warehouse | MariaDb, table: str = "fx", **changes: Any) -> OutputOperation:
    destination = Destination(
        "jdbc",
        "jdbc",
        f"dwh/{table}",
        table=table,
        options={"url": database.jdbc_url},
        credential_ref="env://WAREHOUSE",
    )
    return make_output(destination=destination, **changes)


def read_table(warehouse: Warehouse, table: str = "fx") -> list[str]:
    return [name for (name,) in warehouse.query(f'SELECT name FROM "{table}" ORDER BY name')]


def list_stage_tables(warehouse: Warehouse) -> list[str]:
    return [name for (name,) in warehouse.query("SELECT tablename FROM pg_tables WHERE tablename LIKE 'rt_stage_%'")]
