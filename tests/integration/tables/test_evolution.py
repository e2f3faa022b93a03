"""Tables of others whose columns change: a run reads each version by the columns that it had."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.types import DecimalType, LongType

from airflow_provider_runtime.core.errors import RuntimeProviderError
from tests.integration.tables.books import Books, double_into

pytestmark = [pytest.mark.spark, pytest.mark.integration]
ACCOUNT, PERIOD = pa.field("account", pa.string()), pa.field("_period", pa.string())
NARROW = pa.schema([ACCOUNT, ("amount", pa.decimal128(9, 2)), ("lines", pa.int32()), PERIOD])
AMOUNT = {"name": "amount", "type": "decimal", "precision": 18, "scale": 2}


def make_rows(period: str, amount: str, lines: int, schema: pa.Schema = NARROW, **more: Any) -> pa.Table:
    row = {"account": "A0", "amount": Decimal(amount), "lines": lines, "_period": period, **more}
    return pa.Table.from_pylist([row], schema=schema)


@pytest.fixture
def books(books: Books) -> Books:
    """A ledger that a library has written, of narrower types than are declared, and not partitioned."""
    declare(books, 2, AMOUNT, {"name": "lines", "type": "integer"})
    append(books, make_rows("2026-01", "1.10", 3))
    books.define(double_into(books.destination(), columns=["account", "doubled", "lines", "_period"]))
    return books


def declare(books: Books, version: int, *columns: dict[str, Any]) -> None:
    account = {"name": "account", "type": "string"}
    main = {"name": "ledger", "temporal_mode": "period", "columns": [account, *columns]}
    dataset = {"id": "ledger", "name": "GL", "version": version, "resolver_id": "tables", "main_table": main}
    books.place.write_catalog(f"ledger{version}.yaml", {"dataset": dataset})


def append(books: Books, data: pa.Table) -> None:
    if books.format == "delta":
        from deltalake import write_deltalake

        write_deltalake(str(books.ledger.root / "ledger"), data, mode="append", schema_mode="merge")
        return
    with load_catalog("lake", **books.ledger.address.properties) as catalog:
        catalog.create_namespace_if_not_exists("finance")
        table = catalog.create_table_if_not_exists("finance.ledger", schema=data.schema)
        with table.update_schema() as update:
            update.union_by_name(data.schema)
        table.append(data)


def read(books: Books) -> list[tuple[str, str, Any]]:
    rows = [(row["_period"], str(row["doubled"]), row["lines"]) for row in books.results.read()]
    return sorted(rows, key=str)


def test_narrower_types_in_a_table_of_many_periods_in_a_file(books: Books) -> None:
    append(books, pa.concat_tables([make_rows("2026-01", "2.00", 4), make_rows("2026-02", "5.00", 5)]))
    snapshot = books.place.resolve("close", "2026-02")
    assert [len(location.files) for location in snapshot.input_table.locations] == [1]
    assert books.place.execute(snapshot).succeeded
    books.run("2026-01")
    assert read(books) == [("2026-01", "2.20", 3), ("2026-01", "4.00", 4), ("2026-02", "10.00", 5)]


def test_columns_that_were_widened_renamed_dropped_and_added_again(books: Books) -> None:
    if books.format == "delta":
        pytest.skip("Delta renames and widens by column mapping and type widening, which are refused")
    before = books.place.resolve("close", "2026-01")
    with load_catalog("lake", **books.ledger.address.properties) as catalog:
        table = catalog.load_table("finance.ledger")
        with table.update_schema() as update:
            update.update_column("amount", DecimalType(18, 2))
            update.rename_column("account", "old_account")
        with table.update_schema(allow_incompatible_changes=True) as update:
            update.delete_column("lines")
        with table.update_schema() as update:
            update.add_column("lines", LongType())
            update.rename_column("old_account", "account")
        wide = pa.schema([ACCOUNT, ("amount", pa.decimal128(18, 2)), PERIOD, ("lines", pa.int64())])
        table.append(make_rows("2026-01", "123456789012.25", 2**40, wide))
    books.run("2026-01")
    assert read(books) == [("2026-01", "2.20", None), ("2026-01", "246913578024.50", 2**40)]
    # The older snapshot still reads the column that was dropped since.
    assert books.place.execute(before).succeeded
    assert read(books) == [("2026-01", "2.20", 3)]


def test_column_that_was_added_is_null_in_older_files(books: Books) -> None:
    declare(books, 3, AMOUNT, {"name": "note", "type": "string"})
    append(books, make_rows("2026-01", "2.00", 4, NARROW.append(pa.field("note", pa.string())), note="x"))
    books.define(double_into(books.destination(), columns=["note", "doubled", "_period"]))
    books.run("2026-01")
    rows = sorted((str(row["note"]), str(row["doubled"])) for row in books.results.read())
    assert rows == [("None", "2.20"), ("x", "4.00")]


def test_declared_column_that_a_version_lacks_is_reported(books: Books) -> None:
    declare(books, 4, {**AMOUNT, "name": "amuont"})
    operations = double_into(books.destination())
    operations[0]["arguments"]["assignments"][0]["expression"] = "amuont * 2"
    books.define(operations)
    result = books.place.execute(books.place.resolve("close", "2026-01"))
    assert [problem.code for problem in result.problems] == ["DATA_002"]
    assert "amuont" in str(result.problems[0])


def test_delta_output_that_is_partitioned_by_something_else_is_reported_when_resolving(books: Books) -> None:
    if books.format == "iceberg":
        pytest.skip("files of one period each can be replaced in any Iceberg table")
    from deltalake import write_deltalake

    schema = pa.schema([ACCOUNT, ("doubled", pa.decimal128(38, 2)), PERIOD])
    write_deltalake(str(books.results.root / "results"), schema.empty_table(), partition_by=["account"])
    books.define(double_into(books.destination()))
    with pytest.raises(RuntimeProviderError, match="partitioned by account") as caught:
        books.place.resolve("close", "2026-01")
    assert caught.value.code == "OUTPUT_002"
