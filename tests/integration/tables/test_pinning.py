"""What a pinned version of a table holds, whoever has written it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_provider_runtime.core.errors import RuntimeProviderError
from airflow_provider_runtime.core.tables import PinnedTable, RowFilter, TableAddress, TableColumn, open_table
from tests.integration.tables.kit import LEDGER, TableKit, lines

JANUARY = RowFilter(period_column="_period", period="2026-01")


def read_pinned(pinned: PinnedTable) -> list[dict[str, Any]]:
    """Read the files of a pin as plain Parquet, with the names and constants that it gives."""
    rows = []
    for group in pinned.groups:
        for file in group.files:
            for row in pq.ParquetFile(file.uri.removeprefix("file://")).read().to_pylist():
                values = {}
                for column in pinned.columns:
                    physical = group.names.get(column.name, column.name)
                    values[column.name] = group.constants.get(column.name, row.get(physical) if physical else None)
                rows.append(values)
    return sorted(rows, key=lambda row: str(sorted(row.items(), key=str)))


def pin(kit: TableKit, version: str | None = None, rows: RowFilter | None = None) -> PinnedTable:
    found = kit.open().find_pin(version, rows)
    assert found is not None
    return found


def test_table_that_is_missing_has_no_pin(kit: TableKit) -> None:
    assert kit.open().find_pin() is None
    assert kit.open().find_state().version is None


def test_pinned_version_keeps_its_rows_when_the_table_moves_on(kit: TableKit) -> None:
    version = kit.publish(lines("2026-01", "1.00"))
    first = pin(kit)
    kit.publish(lines("2026-01", "2.00"), token=2)
    assert first.version == version
    assert read_pinned(first) == lines("2026-01", "1.00")
    assert pin(kit, version) == first
    assert read_pinned(pin(kit)) == lines("2026-01", "2.00")
    assert kit.open().find_state().version != version


def test_pin_shows_types_sizes_and_rows(kit: TableKit) -> None:
    kit.publish(lines("2026-01", "1.00", "2.00"))
    pinned = pin(kit)
    assert pinned.columns == LEDGER
    (file,) = pinned.files
    path = Path(file.uri.removeprefix("file://"))
    assert file.uri.startswith("file:///")
    assert (file.size, file.rows) == (path.stat().st_size, 2)


def test_files_of_other_periods_are_left_out(kit: TableKit) -> None:
    kit.publish(lines("2026-01", "1.00"))
    kit.publish(lines("2026-02", "2.00"), period="2026-02")
    pinned = pin(kit, rows=JANUARY)
    assert read_pinned(pinned) == lines("2026-01", "1.00")
    assert pin(kit, rows=RowFilter(period_column="_period", period="2030-01")).files == ()
    assert len(pin(kit).files) == 2


def test_commits_about_other_periods_leave_the_files(kit: TableKit) -> None:
    kit.publish(lines("2026-01", "1.00"))
    before = pin(kit, rows=JANUARY)
    kit.publish(lines("2026-02", "2.00"), period="2026-02")
    after = pin(kit, rows=JANUARY)
    assert before.version != after.version
    assert set(before.files) == set(after.files)
    kit.publish(lines("2026-01", "1.00"), token=2)
    assert set(pin(kit, rows=JANUARY).files) != set(before.files)


def test_files_outside_of_the_as_of_date_are_left_out(kit: TableKit) -> None:
    columns = (TableColumn("rate", "string"), TableColumn("valid_from", "date"), TableColumn("valid_to", "date"))
    rows = [
        {"rate": "old", "valid_from": date(2025, 1, 1), "valid_to": date(2026, 1, 1)},
        {"rate": "now", "valid_from": date(2026, 1, 1), "valid_to": None},
        {"rate": "new", "valid_from": date(2026, 2, 1), "valid_to": None},
    ]
    kit.publish(rows, columns=columns, periods=(), files=3)
    wanted = RowFilter(from_column="valid_from", to_column="valid_to", as_of=date(2026, 1, 15))
    assert [row["rate"] for row in read_pinned(pin(kit, rows=wanted))] == ["now"]


def test_readers_of_delta_find_rows_by_any_column(tmp_path: Path) -> None:
    from deltalake import DeltaTable
    from pyarrow.dataset import field

    kit = TableKit("delta", tmp_path)
    kit.publish(lines("2026-01", "1.00", "2.00"))
    wide = (*LEDGER, TableColumn("note", "string"))
    kit.publish([{**row, "note": "x"} for row in lines("2026-02", "3.00")], columns=wide, period="2026-02")
    kit.publish(lines("2026-01", "1.00", "2.00"), token=2)
    rows = DeltaTable(str(tmp_path / kit.name)).to_pyarrow_dataset()
    assert rows.filter(field("note").is_null()).count_rows() == 2
    assert rows.filter(field("note") == "x").count_rows() == 1
    assert rows.filter(field("amount") > Decimal("1.00")).count_rows() == 2
    assert rows.filter(field("account") == "A0").count_rows() == 2


def test_filter_on_a_column_of_another_type_leaves_out_nothing(kit: TableKit) -> None:
    columns = (TableColumn("period_number", "bigint"), TableColumn("valid_from", "string"))
    kit.publish([{"period_number": 1, "valid_from": "x"}], columns=columns, periods=())
    for name in ("period_number", "missing"):
        wanted = RowFilter(period_column=name, period="2026-01", from_column="valid_from", as_of=date(2026, 1, 1))
        assert len(pin(kit, rows=wanted).files) == 1


@pytest.mark.parametrize("version", ["9999999", "nonsense"])
def test_version_that_is_not_there_is_data_001(kit: TableKit, version: str) -> None:
    kit.publish(lines("2026-01", "1.00"))
    with pytest.raises(RuntimeProviderError, match=f"version {version} has expired") as caught:
        kit.open().find_pin(version)
    assert caught.value.code == "DATA_001"


def test_expired_version_is_data_001(kit: TableKit) -> None:
    first = kit.publish(lines("2026-01", "1.00"))
    for number in range(2, 5):
        kit.publish(lines("2026-01", "2.00"), token=number)
    if kit.format == "delta":
        from deltalake import DeltaTable

        DeltaTable(str(kit.root / kit.name)).create_checkpoint()
        (kit.root / kit.name / "_delta_log" / f"{0:020d}.json").unlink()
    else:
        with _load(kit) as table:
            table.maintenance.expire_snapshots().by_id(int(first)).commit()
    with pytest.raises(RuntimeProviderError, match=f"version {first} has expired") as caught:
        kit.open().find_pin(first)
    assert caught.value.code == "DATA_001"


def test_column_that_files_lack_is_null(kit: TableKit) -> None:
    kit.publish(lines("2026-01", "1.00"))
    rows = [{**row, "note": "new"} for row in lines("2026-02", "2.00")]
    kit.publish(rows, period="2026-02", columns=[*LEDGER, TableColumn("note", "string")])
    assert [row["note"] for row in read_pinned(pin(kit))] == [None, "new"]


def test_table_without_a_commit_has_no_files(tmp_path: Path) -> None:
    kit = TableKit("iceberg", tmp_path)
    with kit_catalog(kit) as catalog:
        catalog.create_namespace("finance")
        catalog.create_table("finance.ledger", schema=pa.schema([("a", pa.string())]))
    assert pin(kit) == PinnedTable(None, (TableColumn("a", "string"),), ())


def _write_with_pyiceberg(kit: TableKit, data: pa.Table) -> None:
    with kit_catalog(kit) as catalog:
        catalog.create_namespace_if_not_exists("finance")
        catalog.create_table_if_not_exists("finance.ledger", schema=data.schema).append(data)


def _write_with_deltalake(kit: TableKit, data: pa.Table) -> None:
    from deltalake import write_deltalake

    write_deltalake(str(kit.root / kit.name), data, mode="append")


def _write_with_polars(kit: TableKit, data: pa.Table) -> None:
    import polars

    polars.DataFrame(data).write_delta(str(kit.root / kit.name), mode="append")


def _write_with_polars_to_iceberg(kit: TableKit, data: pa.Table) -> None:
    import polars

    with kit_catalog(kit) as catalog:
        catalog.create_namespace_if_not_exists("finance")
        table = catalog.create_table_if_not_exists("finance.ledger", schema=data.schema)
        polars.DataFrame(data).write_iceberg(table, mode="append")


def _add_file_of_duckdb(kit: TableKit, data: pa.Table) -> None:
    import duckdb

    path = kit.root / "duckdb.parquet"
    with duckdb.connect() as connection:
        connection.register("data", data)
        connection.execute(f"COPY data TO '{path}' (FORMAT parquet)")
    with kit_catalog(kit) as catalog:
        catalog.create_namespace_if_not_exists("finance")
        catalog.create_table_if_not_exists("finance.ledger", schema=data.schema).add_files([f"file://{path}"])


@pytest.mark.parametrize(
    ("format_", "write"),
    [
        ("iceberg", _write_with_pyiceberg),
        ("iceberg", _write_with_polars_to_iceberg),
        ("iceberg", _add_file_of_duckdb),
        ("delta", _write_with_deltalake),
        ("delta", _write_with_polars),
    ],
)
def test_tables_of_other_writers_are_read(tmp_path: Path, format_: Any, write: Callable[..., None]) -> None:
    kit = TableKit(format_, tmp_path)
    schema = pa.schema([("account", pa.string()), ("amount", pa.decimal128(18, 2)), ("_period", pa.string())])
    write(kit, pa.Table.from_pylist(lines("2026-01", "1.00", "2.00"), schema=schema))
    pinned = pin(kit, rows=JANUARY)
    assert pinned.columns == LEDGER
    assert read_pinned(pinned) == lines("2026-01", "1.00", "2.00")
    assert read_pinned(pin(kit, rows=RowFilter("_period", "2026-02"))) == []


def test_delta_partition_columns_are_constants(tmp_path: Path) -> None:
    from deltalake import write_deltalake

    kit = TableKit("delta", tmp_path, name="a b{c}")
    days = [date(2026, 1, 1), None]
    data = pa.table({"day": days, "region": ["a b/c%{x}", None], "n": [1, 2]})
    write_deltalake(str(kit.root / kit.name), data, partition_by=["day", "region"])
    pinned = pin(kit)
    assert {tuple(group.constants.items()) for group in pinned.groups} == {
        (("day", "2026-01-01"), ("region", "a b/c%{x}")),
        (("day", None), ("region", None)),
    }
    assert all(Path(file.uri.removeprefix("file://")).is_file() for file in pinned.files)


def add_delta_file(kit: TableKit, name: str, data: pa.Table) -> None:
    """Write a file and add it to the log as somebody else might: without statistics."""
    from deltalake import DeltaTable
    from deltalake.transaction import AddAction

    path = kit.root / kit.name / name
    pq.write_table(data, path)
    table = DeltaTable(str(path.parent))
    action = AddAction(name, path.stat().st_size, {}, 1, True, "")
    table.create_write_transaction([action], "append", table.schema(), partition_by=[])


@pytest.fixture
def spelled(tmp_path: Path) -> TableKit:
    """A Delta table of which one file spells a column in another case."""
    kit = TableKit("delta", tmp_path)
    _write_with_deltalake(kit, pa.table({"account": ["a"], "amount": [1]}))
    add_delta_file(kit, "other.parquet", pa.table({"account": ["b"], "AMOUNT": [2]}))
    return kit


def test_delta_column_that_a_file_spells_in_another_case_is_found(spelled: TableKit) -> None:
    pinned = pin(spelled, rows=RowFilter(columns=frozenset({"account", "amount", "missing"})))
    assert read_pinned(pinned) == [{"account": "a", "amount": 1}, {"account": "b", "amount": 2}]
    assert sorted(dict(group.names).get("amount", "") for group in pinned.groups) == ["", "AMOUNT"]


def test_delta_column_that_a_file_spells_in_two_ways_is_source_001(spelled: TableKit) -> None:
    add_delta_file(spelled, "both.parquet", pa.table({"AMOUNT": [2], "Amount": [3]}))
    with pytest.raises(RuntimeProviderError, match=r"SOURCE_001.*both.parquet has AMOUNT and Amount"):
        pin(spelled, rows=RowFilter(columns=frozenset({"amount"})))
    assert len(pin(spelled, rows=RowFilter(columns=frozenset({"account"}))).files) == 3


@pytest.mark.parametrize(
    ("kind", "stored", "is_read"),
    [
        (pa.int64(), pa.uint64(), False),
        (pa.int32(), pa.uint32(), False),
        (pa.int64(), pa.uint32(), True),
        (pa.int8(), pa.uint8(), True),
    ],
)
def test_delta_column_that_is_unsigned_in_a_file_is_read_where_it_fits(
    tmp_path: Path, kind: pa.DataType, stored: pa.DataType, is_read: bool
) -> None:
    kit = TableKit("delta", tmp_path)
    _write_with_deltalake(kit, pa.table({"lines": pa.array([1], kind)}))
    add_delta_file(kit, "other.parquet", pa.table({"lines": pa.array([200], stored)}))
    wanted = RowFilter(columns=frozenset({"lines"}))
    if is_read:
        assert len(pin(kit, rows=wanted).files) == 2
        return
    with pytest.raises(RuntimeProviderError, match=f"DATA_002.* lines of other.parquet is {stored}, not"):
        pin(kit, rows=wanted)


def test_delta_file_whose_footer_is_damaged_is_left_to_the_job(spelled: TableKit) -> None:
    (spelled.root / spelled.name / "other.parquet").write_bytes(b"PAR1 nothing PAR1")
    assert len(pin(spelled, rows=RowFilter(columns=frozenset({"amount"}))).files) == 2


def test_iceberg_columns_are_found_by_field_id(tmp_path: Path) -> None:
    kit = TableKit("iceberg", tmp_path)
    _write_with_pyiceberg(kit, pa.table({"a": ["first"], "b": ["second"]}))
    with _load(kit) as table:
        with table.update_schema() as update:
            update.rename_column("a", "c")
        with table.update_schema() as update:
            update.rename_column("b", "a")
        with table.update_schema() as update:
            update.add_column("b", table.schema().fields[0].field_type)
        table.append(pa.table({"c": ["x"], "a": ["y"], "b": ["z"]}))
    assert read_pinned(pin(kit)) == [{"c": "first", "a": "second", "b": None}, {"c": "x", "a": "y", "b": "z"}]


def test_iceberg_version_is_read_by_its_own_columns(tmp_path: Path) -> None:
    kit = TableKit("iceberg", tmp_path)
    _write_with_pyiceberg(kit, pa.table({"a": ["first"]}))
    version = pin(kit).version
    with _load(kit) as table:
        with table.update_schema() as update:
            update.rename_column("a", "c")
        table.append(pa.table({"c": ["x"]}))
    assert read_pinned(pin(kit, version)) == [{"a": "first"}]
    assert read_pinned(pin(kit)) == [{"c": "first"}, {"c": "x"}]


def test_files_without_field_ids_are_read_by_the_name_mapping(tmp_path: Path) -> None:
    kit = TableKit("iceberg", tmp_path)
    kit.publish(lines("2026-01", "1.00"))
    with _load(kit) as table, table.update_schema() as update:
        update.rename_column("amount", "value")
    rows = read_pinned(pin(kit))
    assert [(row["account"], row["value"]) for row in rows] == [("A0", Decimal("1.00"))]


def test_partition_value_of_a_file_without_the_column_is_its_value(tmp_path: Path) -> None:
    from pyiceberg.manifest import DataFileContent

    kit = TableKit("iceberg", tmp_path)
    kit.publish(lines("2026-01", "1.00"))
    with _load(kit) as table:
        (task,) = table.scan().plan_files()
        path = task.file.file_path.replace(".parquet", "-without.parquet")
        local = path.removeprefix("file://")
        pq.write_table(pq.read_table(task.file.file_path.removeprefix("file://")).drop_columns("_period"), local)
        made = _copy_data_file(task.file, DataFileContent.DATA, path, Path(local).stat().st_size)
        with table.transaction() as transaction, transaction.update_snapshot().fast_append() as snapshot:
            snapshot.append_data_file(made)
    rows = read_pinned(pin(kit, rows=JANUARY))
    assert [(row["account"], row["_period"]) for row in rows] == [("A0", "2026-01")] * 2


def test_iceberg_delete_files_are_source_001(tmp_path: Path) -> None:
    from pyiceberg.manifest import DataFileContent

    kit = TableKit("iceberg", tmp_path)
    kit.publish(lines("2026-01", "1.00"))
    kit.publish(lines("2026-02", "1.00"), period="2026-02")
    with _load(kit) as table:
        (task,) = table.scan(row_filter="_period = '2026-01'").plan_files()
        deletes = _copy_data_file(task.file, DataFileContent.POSITION_DELETES, file_path=f"{task.file.file_path}.d")
        with table.transaction() as transaction, transaction.update_snapshot().fast_append() as snapshot:
            snapshot.append_data_file(deletes)
    with pytest.raises(RuntimeProviderError, match="it has delete files") as caught:
        kit.open().find_pin(None, JANUARY)
    assert caught.value.code == "SOURCE_001"
    assert "rewrite" in str(caught.value.problems[0].hint)


def test_iceberg_equality_deletes_are_source_001(tmp_path: Path) -> None:
    from pyiceberg.manifest import DataFileContent

    kit = TableKit("iceberg", tmp_path)
    kit.publish(lines("2026-01", "1.00"))
    with _load(kit) as table:
        (task,) = table.scan().plan_files()
        deletes = _copy_data_file(task.file, DataFileContent.EQUALITY_DELETES, file_path=f"{task.file.file_path}.d")
        with table.transaction() as transaction, transaction.update_snapshot().fast_append() as snapshot:
            snapshot.append_data_file(deletes)
    with pytest.raises(RuntimeProviderError, match="it has equality delete files") as caught:
        kit.open().find_pin()
    assert caught.value.code == "SOURCE_001"


@pytest.mark.parametrize("mode", ["name", "id"])
def test_delta_column_mapping_is_source_001(tmp_path: Path, mode: str) -> None:
    kit = TableKit("delta", tmp_path)
    write_delta_log(kit, {"delta.columnMapping.mode": mode}, ["columnMapping"])
    with pytest.raises(RuntimeProviderError, match="it maps column names") as caught:
        kit.open().find_pin()
    assert caught.value.code == "SOURCE_001"


def test_delta_features_of_other_readers_are_source_001(tmp_path: Path) -> None:
    kit = TableKit("delta", tmp_path)
    write_delta_log(kit, {}, ["typeWidening"])
    with pytest.raises(RuntimeProviderError, match="typeWidening") as caught:
        kit.open().find_pin()
    assert caught.value.code == "SOURCE_001"


@pytest.mark.parametrize("feature", ["fooBar", "catalogManaged"])
def test_delta_features_that_the_library_does_not_know_are_source_001(tmp_path: Path, feature: str) -> None:
    kit = TableKit("delta", tmp_path)
    write_delta_log(kit, {}, [feature])
    with pytest.raises(RuntimeProviderError, match=r"its log asks for what deltalake \S+ does not know") as caught:
        kit.open().find_pin()
    assert caught.value.code == "SOURCE_001"


@pytest.mark.parametrize("has_vector", [True, False])
def test_delta_deletion_vectors_are_source_001(tmp_path: Path, has_vector: bool) -> None:
    kit = TableKit("delta", tmp_path)
    # Row 0 is deleted: a roaring bitmap, in Delta's own base 85.
    vector = {"storageType": "i", "pathOrInlineDv": make_inline_vector([0]), "sizeInBytes": 34, "cardinality": 1}
    write_delta_log(kit, {"delta.enableDeletionVectors": "true"}, ["deletionVectors"], vector if has_vector else None)
    if not has_vector:
        assert len(pin(kit).files) == 1
        return
    with pytest.raises(RuntimeProviderError, match="it has deletion vectors") as caught:
        kit.open().find_pin()
    assert caught.value.code == "SOURCE_001"


def test_missing_extra_is_named(monkeypatch: Any, kit: TableKit) -> None:
    import sys

    package = {"iceberg": "pyiceberg", "delta": "deltalake"}[kit.format]
    for name in [
        name for name in sys.modules if name.startswith((f"{package}.", "airflow_provider_runtime.core.tables."))
    ]:
        if f".{kit.format}." in name or name.startswith(package):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(RuntimeProviderError, match=f"needs the Python package {package}") as caught:
        kit.open()
    assert caught.value.problems[0].hint == f"pip install 'airflow-provider-runtime[{kit.format}]'"


def test_catalog_that_cannot_be_used_says_so(tmp_path: Path) -> None:
    address = TableAddress("iceberg", "a.b", "lake/a.b", "lake", {"type": "sql"})
    with pytest.raises(RuntimeProviderError, match="the catalog 'lake' cannot be used") as caught:
        open_table(address).find_state()
    assert caught.value.code == "CATALOG_004"
    address = TableAddress(
        "iceberg", "a.b", "lake/a.b", "lake", {"type": "sql", "uri": f"sqlite:///{tmp_path}/no/x.db"}
    )
    with pytest.raises(RuntimeProviderError) as caught:
        open_table(address).find_state()
    assert caught.value.code == "INFRA_001"


@pytest.mark.parametrize("odd", ["string", "timestamp_ns", "variant"])
def test_format_version_3_is_read_as_far_as_the_library_knows_it_and_never_written(tmp_path: Path, odd: str) -> None:
    kit = TableKit("iceberg", tmp_path)
    kit.publish(lines("2026-01", "1.00"))
    make_version_3(kit, odd)
    if odd == "variant":
        with pytest.raises(RuntimeProviderError, match=r"hold what pyiceberg \S+ does not know") as caught:
            kit.open().find_pin()
        assert caught.value.code == "SOURCE_001"
        return
    assert [row["amount"] for row in read_pinned(pin(kit))] == [Decimal("1.00")]
    with pytest.raises(RuntimeProviderError, match="has format version 3, which pyiceberg cannot write") as caught:
        kit.open().check_output(LEDGER, by_period=True)
    assert caught.value.code == "OUTPUT_002"


def make_version_3(kit: TableKit, type_: str) -> None:
    """Let the metadata of a table be what an engine that writes version 3 makes of it, with one more column."""
    with _load(kit) as table:
        path = Path(table.metadata_location.removeprefix("file://"))
    found = json.loads(path.read_text()) | {"format-version": 3, "next-row-id": 1}
    for snapshot in found["snapshots"]:
        snapshot |= {"first-row-id": 0, "added-rows": 1}
    for schema in found["schemas"]:
        schema["fields"].append({"id": 99, "name": "odd", "type": type_, "required": False})
    path.write_text(json.dumps(found | {"last-column-id": 99}))


def test_catalog_whose_extra_is_missing_says_what_to_install() -> None:
    address = TableAddress("iceberg", "a.b", "lake/a.b", "lake", {"type": "hive", "uri": "thrift://127.0.0.1:1"})
    with pytest.raises(RuntimeProviderError, match="needs more of pyiceberg than is installed") as caught:
        open_table(address).find_state()
    assert caught.value.code == "CATALOG_004"
    assert "pip install 'pyiceberg[hive]'" in str(caught.value.problems[0].hint)


def test_new_table_in_a_namespace_of_several_levels_is_refused_where_the_library_cannot_make_it(tmp_path: Path) -> None:
    address = replace(TableKit("iceberg", tmp_path).address, name="group.finance.ledger")
    with pytest.raises(RuntimeProviderError, match="namespace of several levels") as caught:
        open_table(address).find_location()
    assert caught.value.code == "OUTPUT_002"


def kit_catalog(kit: TableKit) -> Any:
    from pyiceberg.catalog import load_catalog

    return load_catalog("lake", **kit.address.properties)


class _load:
    """An Iceberg table, whose catalog is closed at the end."""

    def __init__(self, kit: TableKit) -> None:
        self.kit = kit

    def __enter__(self) -> Any:
        self.catalog = kit_catalog(self.kit)
        return self.catalog.load_table(self.kit.address.name)

    def __exit__(self, *_: object) -> None:
        self.catalog.close()


def _copy_data_file(file: Any, content: Any, file_path: str, size: int | None = None) -> Any:
    from pyiceberg.manifest import DataFile

    return DataFile.from_args(
        content=content,
        file_path=file_path,
        file_format=file.file_format,
        partition=file.partition,
        record_count=1,
        file_size_in_bytes=size or file.file_size_in_bytes,
        equality_ids=[1] if content.name == "EQUALITY_DELETES" else None,
        spec_id=file.spec_id,
    )


def make_inline_vector(rows: list[int]) -> str:
    """A deletion vector as Delta's log holds small ones."""
    alphabet = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    container = b"".join(row.to_bytes(2, "little") for row in rows)
    bitmap = (12346).to_bytes(4, "little") + (1).to_bytes(4, "little") + (0).to_bytes(2, "little")
    bitmap += (len(rows) - 1).to_bytes(2, "little") + (16).to_bytes(4, "little") + container
    data = (1681511377).to_bytes(4, "little") + (1).to_bytes(8, "little") + (0).to_bytes(4, "little") + bitmap
    data += bytes(-len(data) % 4)
    text = ""
    for start in range(0, len(data), 4):
        value = int.from_bytes(data[start : start + 4], "big")
        digits = []
        for _ in range(5):
            value, digit = divmod(value, 85)
            digits.append(alphabet[digit])
        text += "".join(reversed(digits))
    return text


def write_delta_log(
    kit: TableKit, settings: dict[str, str], features: list[str], vector: dict[str, Any] | None = None
) -> None:
    """Write a table with reader features, as other engines do."""
    root = kit.root / kit.name
    (root / "_delta_log").mkdir(parents=True)
    pq.write_table(pa.table({"a": ["x", "y"]}), root / "part.parquet")
    fields = [{"name": "a", "type": "string", "nullable": True, "metadata": {}}]
    if "columnMapping" in features:
        fields[0]["metadata"] = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "a"}
    size = (root / "part.parquet").stat().st_size
    add: dict[str, Any] = {"path": "part.parquet", "size": size, "partitionValues": {}, "dataChange": True}
    add |= {"modificationTime": 0, "stats": json.dumps({"numRecords": 2})}
    if vector is not None:
        add["deletionVector"] = vector
    metadata = {
        "id": "1",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": [],
        "configuration": settings,
    }
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": features, "writerFeatures": features}
    actions = [{"protocol": protocol}, {"metaData": metadata}, {"add": add}]
    (root / "_delta_log" / f"{0:020d}.json").write_text("\n".join(map(json.dumps, actions)))
