"""Tables of others as they come: column types, partitions, uses of a table in a project, and many files."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform, DayTransform, MonthTransform, TruncateTransform
from pyiceberg.typedef import Record
from pyiceberg.types import DateType, DecimalType, NestedField, StringType, TimestamptzType
from pyiceberg.utils.datetime import date_to_days, datetime_to_micros

from spark_jobs.contract import file_lists
from tests.integration.runs.workplace import make_update
from tests.integration.tables.books import Books, double_into
from tests.integration.tables.kit import lines

pytestmark = [pytest.mark.spark, pytest.mark.integration]
UTC = dt.UTC
NOON = dt.datetime(2026, 1, 31, 12, 30, tzinfo=UTC)
OTHER_TYPES: dict[str, tuple[pa.DataType, Any]] = {
    "binary": (pa.binary(), b"\x00"),
    "fixed": (pa.binary(4), b"1234"),
    "double": (pa.float64(), 0.1),
    "float": (pa.float32(), 0.5),
    "small": (pa.int32(), 1),
    "plain_time": (pa.timestamp("us"), dt.datetime(2026, 1, 31)),
    "list": (pa.list_(pa.string()), ["a"]),
    "struct": (pa.struct([("a", pa.string())]), {"a": "x"}),
    "map": (pa.map_(pa.string(), pa.string()), [("k", "v")]),
}
COMMON = [{"name": "account", "type": "string"}, {"name": "amount", "type": "decimal", "precision": 18, "scale": 2}]
ONLY_ICEBERG = {"uuid": (pa.uuid(), uuid.UUID(int=1).bytes), "time": (pa.time64("us"), dt.time(12))}


def make_ledger(books: Books, extra: dict[str, tuple[pa.DataType, Any]], spec: Any = None) -> pa.Table:
    """Write a ledger of one row by the format's own library, with further columns."""
    rows = {"account": ["A0"], "amount": pa.array([Decimal("1.00")], pa.decimal128(18, 2)), "_period": ["2026-01"]}
    data = pa.table({**rows, **{name: pa.array([value], kind) for name, (kind, value) in extra.items()}})
    write(books, "ledger", data)
    return data


def write(books: Books, name: str, data: pa.Table, partition_by: Sequence[str] | None = None) -> None:
    if books.format == "delta":
        from deltalake import write_deltalake

        write_deltalake(str(books.place.folder / name), data, mode="append", partition_by=partition_by)
        return
    with load_catalog("lake", **books.ledger.address.properties) as catalog:
        catalog.create_namespace_if_not_exists("finance")
        catalog.create_table_if_not_exists(f"finance.{name}", data.schema).append(data)


def declare(books: Books, *columns: dict[str, Any], name: str = "ledger", mode: str = "period") -> None:
    main = {"name": name, "temporal_mode": mode, "columns": [*COMMON, *columns]}
    dataset = {"id": name, "name": name.upper(), "version": 2, "resolver_id": "tables", "main_table": main}
    books.place.write_catalog(f"{name}2.yaml", {"dataset": dataset})


def test_columns_that_are_not_declared_may_be_of_any_type(books: Books) -> None:
    make_ledger(books, {**OTHER_TYPES, **(ONLY_ICEBERG if books.format == "iceberg" else {})})
    books.define(double_into(books.destination()))
    books.run()
    assert books.read_results() == [("2026-01", "A0", "2.00")]


@pytest.mark.parametrize("name", ["binary", "list", "struct", "uuid", "time"])
def test_declared_column_of_a_type_that_no_dataset_has_is_named(books: Books, name: str) -> None:
    if books.format == "delta" and name in ONLY_ICEBERG:
        pytest.skip("Delta has no such type")
    make_ledger(books, {name: {**OTHER_TYPES, **ONLY_ICEBERG}[name]})
    declare(books, {"name": name, "type": "string"})
    books.define([make_update(10, doubled="amount * 2", copy=name), double_into(books.destination())[1]])
    result = books.place.execute(books.place.resolve("close", "2026-01"))
    assert [problem.code for problem in result.problems] == ["DATA_002"]
    assert name in str(result.problems[0])
    assert books.results.open().find_state().version is None


def test_timestamps_with_and_without_a_zone_are_the_same_instant_in_utc(books: Books) -> None:
    without = NOON.replace(tzinfo=None)
    extra = {"with_zone": (pa.timestamp("us", tz="UTC"), NOON), "without": (pa.timestamp("us"), without)}
    make_ledger(books, extra)
    declare(books, {"name": "with_zone", "type": "timestamp"}, {"name": "without", "type": "timestamp"})
    _, output = double_into(books.destination(), columns=["account", "doubled", "same", "seen", "_period"])
    books.define([make_update(10, doubled="amount * 2", same="with_zone = without", seen="without"), output])
    books.run()
    (row,) = books.results.read()
    assert (row["same"], row["seen"]) == (True, NOON)


@pytest.mark.parametrize(
    ("kind", "value", "stored", "outcome"),
    [
        (pa.int8(), 1, pa.uint8(), 200),
        (pa.int16(), 1, pa.int32(), 70_000),
        (pa.int64(), 1, pa.uint64(), "DATA_002"),
        (pa.int32(), 1, pa.uint32(), "DATA_002"),
    ],
)
def test_file_of_another_type_than_the_log_says_is_read_or_refused(
    books: Books, kind: pa.DataType, value: int, stored: pa.DataType, outcome: Any
) -> None:
    if books.format == "iceberg":
        pytest.skip("Iceberg has no small and no unsigned numbers")
    make_ledger(books, {"lines": (kind, value)})
    folder = books.place.folder / "ledger"
    (path,) = folder.glob("*.parquet")
    (log,) = folder.glob("_delta_log/*.json")
    data, size = pq.read_table(path), path.stat().st_size
    changed = pa.array([200 if stored == pa.uint8() else 70_000], stored)
    pq.write_table(data.set_column(data.column_names.index("lines"), "lines", changed), path)
    log.write_text(log.read_text().replace(f'"size":{size}', f'"size":{path.stat().st_size}'))
    declare(books, {"name": "lines", "type": "integer"})
    books.define(double_into(books.destination(), columns=["lines", "doubled", "_period"]))
    result = books.place.execute(books.place.resolve("close", "2026-01"))
    if isinstance(outcome, int):
        assert [row["lines"] for row in books.results.read()] == [outcome]
        return
    assert [problem.code for problem in result.problems] == [outcome]
    assert "lines" in str(result.problems[0])
    assert "unsigned" in str(result.problems[0])


def append_by_partition(table: Any, rows: list[dict[str, Any]], column: str, transform: Any) -> None:
    """Append a file for each row: pyiceberg alone cannot compute all transforms."""
    kind = table.schema().find_field(column).field_type
    compute = transform.transform(kind)
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as snapshot:
        for number, row in enumerate(rows):
            uri = f"{table.location()}/data/part-{number}.parquet"
            path = uri.removeprefix("file://")
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.Table.from_pylist([row], schema=table.schema().as_arrow()), path)
            file = DataFile.from_args(
                content=DataFileContent.DATA,
                file_path=uri,
                file_format=FileFormat.PARQUET,
                partition=Record(compute(_to_literal(kind, row[column]))),
                record_count=1,
                file_size_in_bytes=Path(path).stat().st_size,
                spec_id=table.spec().spec_id,
            )
            snapshot.append_data_file(file)


def _to_literal(kind: Any, value: Any) -> Any:
    """Return a value as Iceberg's transforms take it."""
    if isinstance(kind, DateType):
        return date_to_days(value)
    return datetime_to_micros(value) if isinstance(kind, TimestamptzType) else value


ROWS_OF_DAYS = [("A0", "1.00", "2026-01"), ("A1", "2.00", "2026-01"), ("A0", "5.00", "2026-02")]


@pytest.mark.parametrize(
    ("column", "transform"),
    [("account", BucketTransform(4)), ("_period", TruncateTransform(4)), ("day", MonthTransform()),
     ("moment", DayTransform()), ("amount", TruncateTransform(10))],
    ids=lambda value: str(value),
)  # fmt: skip
def test_iceberg_ledger_partitioned_by_a_transform_is_read(books: Books, column: str, transform: Any) -> None:
    if books.format == "delta":
        pytest.skip("Delta's partitions are plain columns")
    fields = [("account", StringType()), ("amount", DecimalType(18, 2)), ("_period", StringType())]
    fields += [("day", DateType()), ("moment", TimestamptzType())]
    schema = Schema(*(NestedField(n, name, kind, required=False) for n, (name, kind) in enumerate(fields, start=1)))
    source = schema.find_field(column).field_id
    with load_catalog("lake", **books.ledger.address.properties) as catalog:
        catalog.create_namespace("finance")
        spec = PartitionSpec(PartitionField(source, 1000, transform, "part"))
        table = catalog.create_table("finance.ledger", schema, partition_spec=spec)
        rows = [
            {"account": a, "amount": Decimal(b), "_period": c, "day": NOON.date(), "moment": NOON}
            for a, b, c in ROWS_OF_DAYS
        ]
        append_by_partition(table, rows, column, transform)
    books.define(double_into(books.destination()))
    books.run("2026-01")
    assert books.read_results() == [("2026-01", "A0", "2.00"), ("2026-01", "A1", "4.00")]


@pytest.mark.parametrize("by", ["amount", "number", "day", "moment", "account", "_period"])
def test_delta_ledger_partitioned_by_a_column_of_each_type_is_read(books: Books, by: str) -> None:
    if books.format == "iceberg":
        pytest.skip("of Iceberg, partitions by transforms are tested")
    data = pa.table(
        {
            "account": [a for a, _, _ in ROWS_OF_DAYS],
            "amount": pa.array([Decimal(b) for _, b, _ in ROWS_OF_DAYS], pa.decimal128(18, 2)),
            "_period": [c for _, _, c in ROWS_OF_DAYS],
            "number": pa.array([1, None, 3], pa.int64()),
            "day": pa.array([NOON.date(), None, NOON.date()]),
            "moment": pa.array([NOON, NOON.replace(microsecond=1), NOON], pa.timestamp("us", tz="UTC")),
        }
    )
    write(books, "ledger", data, [by])
    more = ({"number": "integer"}, {"day": "date"}, {"moment": "timestamp"})
    declare(books, *({"name": name, "type": kind} for found in more for name, kind in found.items()))
    columns = ["account", "doubled", "number", "day", "moment", "_period"]
    books.define(double_into(books.destination(), columns=columns))
    books.run("2026-01")
    rows = sorted(books.results.read(), key=lambda row: str(row["account"]))
    seen = [(row["account"], str(row["doubled"]), row["number"], row["day"], row["moment"]) for row in rows]
    assert seen == [("A0", "2.00", 1, NOON.date(), NOON), ("A1", "4.00", None, None, NOON.replace(microsecond=1))]


def test_every_use_of_a_table_is_pinned(books: Books) -> None:
    version = books.ledger.publish(lines("2026-01", "1.00"))
    versions = {}
    for name in ("extras", "names", "controls"):
        data = pa.table(
            {
                "account": ["A0"],
                "amount": pa.array([Decimal("1.00")], pa.decimal128(18, 2)),
                "_period": ["2026-01"],
            }
        )
        write(books, name, data)
        declare(books, name=name)
        versions[name] = replace(books.ledger, name=name).open().find_state().version
    lookup = {
        "alias": "n",
        "target": {"type": "dataset", "id": "names", "version": 2},
        "join_conditions": [{"source_column": "account", "target_column": "account"}],
    }
    main = {"name": "ledger", "temporal_mode": "period", "columns": COMMON}
    dataset = {"id": "ledger", "name": "GL", "version": 3, "resolver_id": "tables", "main_table": main}
    books.place.write_catalog("ledger3.yaml", {"dataset": {**dataset, "lookups": [lookup]}})
    append = {"seq": 5, "name": "more", "type": "append", "arguments": {"source": {"dataset_id": "extras"}}}
    check = {"name": "same", "output": 20, "value": "COUNT(*)"}
    check["equals"] = {"dataset_id": "controls", "value": "SUM(amount) + 1"}
    update, output = double_into(books.destination())
    update["arguments"]["assignments"][0]["expression"] = "amount + n.amount"
    books.define([append, update, output], checks=[check])
    snapshot = books.place.resolve("close", "2026-01")
    pins = snapshot.resolver_snapshot
    assert pins.table_version == version
    used = {"extras": pins.append_datasets, "names": pins.lookup_datasets, "controls": pins.check_datasets}
    assert {name: [pin.table_version for pin in found] for name, found in used.items()} == {
        name: [found] for name, found in versions.items()
    }
    for name in versions:
        write(books, name, data)
    books.ledger.publish(lines("2026-01", "8.00"), token=2)
    assert books.place.execute(snapshot).succeeded
    assert books.read_results() == [("2026-01", "A0", "2.00"), ("2026-01", "A0", "2.00")]


def test_delta_tables_are_named_by_path_too(books: Books) -> None:
    if books.format == "iceberg":
        pytest.skip("Iceberg's tables have names")
    books.ledger.publish(lines("2026-01", "1.00"))
    strategy = {"type": "path", "datasource_id": "tables", "path": "{{table_name}}"}
    books.place.write_catalog(
        "by_path.yaml",
        {"resolver": {"id": "tables", "version": 2, "rules": [{"name": "tables", "strategy": strategy}]}},
    )
    books.define(double_into({"datasource_id": "tables", "path": "results"}))
    books.run()
    assert books.read_results() == [("2026-01", "A0", "2.00")]


def test_many_files_are_listed_beside_the_snapshot(books: Books, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_lists, "MAX_FILES_IN_PLACE", 10)
    rows = lines("2026-01", *[f"{n}.00" for n in range(1, 13)])
    books.ledger.publish(rows, files=12)
    books.define(double_into(books.destination()))
    snapshot = books.place.resolve("close", "2026-01")
    assert books.place.execute(snapshot).succeeded
    assert len(list((books.place.folder / "snapshots").glob("*.json.files"))) == 1
    assert len(books.read_results()) == 12
