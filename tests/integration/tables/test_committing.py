"""How an output enters a table of either format."""

from __future__ import annotations

import shutil
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.transforms import BucketTransform, IdentityTransform, TruncateTransform

from airflow_provider_runtime.core.errors import InfrastructureError, RuntimeProviderError
from airflow_provider_runtime.core.tables import TableColumn
from airflow_provider_runtime.core.tables.committing import AnswerLostError
from airflow_provider_runtime.core.tables.iceberg.writing import make_schema
from tests.integration.tables.kit import LEDGER, TableKit, lines, with_base


def test_first_commit_makes_the_table(kit: TableKit) -> None:
    version = kit.publish(lines("2026-01", "1.00", "2.00"))
    assert kit.read() == lines("2026-01", "1.00", "2.00")
    assert kit.open().find_state().version == version


def test_period_is_replaced_in_one_version_and_others_stay(kit: TableKit) -> None:
    first = kit.publish(lines("2026-01", "1.00"))
    second = kit.publish(lines("2026-02", "2.00"), period="2026-02")
    third = kit.publish(lines("2026-01", "7.00", "8.00"), token=2)
    assert [str(row["amount"]) for row in kit.read()] == ["7.00", "8.00", "2.00"]
    assert kit.read(first) == lines("2026-01", "1.00")
    assert len(kit.read(second)) == 2
    assert len({first, second, third}) == 3
    assert _count_versions(kit) == 3


def test_empty_output_removes_the_period(kit: TableKit) -> None:
    kit.publish(lines("2026-01", "1.00"))
    kit.publish(lines("2026-02", "2.00"), period="2026-02")
    kit.publish([], token=2)
    assert kit.read() == lines("2026-02", "2.00")


def test_overwrite_replaces_the_whole_table(kit: TableKit) -> None:
    kit.publish(lines("2026-01", "1.00"))
    kit.publish(lines("2026-02", "2.00"), period="2026-02")
    kit.publish(lines("2026-03", "3.00"), period="2026-03", periods=())
    assert kit.read() == lines("2026-03", "3.00")


def test_new_column_is_added_and_older_rows_have_none(kit: TableKit) -> None:
    kit.publish(lines("2026-01", "1.00"))
    rows = [{**row, "note": "new"} for row in lines("2026-02", "2.00")]
    kit.publish(rows, period="2026-02", columns=[*LEDGER, TableColumn("note", "string")])
    assert {row["_period"]: row["note"] for row in kit.read()} == {"2026-01": None, "2026-02": "new"}
    assert _count_versions(kit) == 2


def test_column_that_an_output_lacks_is_null_in_its_rows(kit: TableKit) -> None:
    rows = [{**row, "note": "old"} for row in lines("2026-01", "1.00")]
    kit.publish(rows, columns=[*LEDGER, TableColumn("note", "string")])
    kit.publish(lines("2026-02", "2.00"), period="2026-02")
    assert {row["_period"]: row["note"] for row in kit.read()} == {"2026-01": "old", "2026-02": None}


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (TableColumn("amount", "decimal(20,2)"), r"amount is decimal\(18,2\) in the table, not decimal\(20,2\)"),
        (TableColumn("amount", "string"), r"amount is decimal\(18,2\) in the table, not string"),
        (TableColumn("Amount", "decimal(18,2)"), "Amount is named amount in the table"),
    ],
)
def test_columns_that_do_not_fit_are_output_002(kit: TableKit, column: TableColumn, said: str) -> None:
    kit.publish(lines("2026-01", "1.00"))
    columns = [LEDGER[0], column, LEDGER[2]]
    request = kit.stage([], token=2, columns=columns)
    with pytest.raises(RuntimeProviderError, match=said) as caught:
        kit.open().check_output(request.columns, by_period=True)
    assert caught.value.code == "OUTPUT_002"
    with pytest.raises(RuntimeProviderError, match=said):
        kit.open().commit(request)
    assert not kit.has_folder_of(request)
    assert kit.read() == lines("2026-01", "1.00")


def test_rows_of_another_period_are_refused(kit: TableKit) -> None:
    kit.publish(lines("2026-01", "1.00"))
    with pytest.raises(RuntimeProviderError, match="belong to another period") as caught:
        kit.publish([*lines("2026-01", "1.00"), *lines("2026-02", "2.00")], token=2)
    assert caught.value.code == "OUTPUT_002"


def test_periods_that_a_run_brings_along_are_replaced_too(kit: TableKit) -> None:
    days = ("2026-01", "2026-01-05", "2026-01-06")
    kit.publish([*lines("2026-01-05", "1.00"), *lines("2026-01-06", "2.00")], periods=days, files=2)
    kit.publish(lines("2026-02-01", "3.00"), period="2026-02", periods=("2026-02", "2026-02-01"))
    kit.publish(lines("2026-01-05", "4.00"), token=2, periods=("2026-01", "2026-01-05"))
    assert {row["_period"]: row["amount"] for row in kit.read()} == {
        "2026-01-05": Decimal("4.00"),
        "2026-02-01": Decimal("3.00"),
    }


def test_period_that_others_have_replaced_since_is_theirs(kit: TableKit) -> None:
    kit.publish(lines("2026-01-05", "1.00"), periods=("2026-01", "2026-01-05"))
    kit.publish(lines("2026-01-05", "2.00"), project="daily", period="2026-01-05")
    kit.publish(lines("2026-01", "3.00"), token=2)
    assert {row["_period"]: row["amount"] for row in kit.read()} == {
        "2026-01": Decimal("3.00"),
        "2026-01-05": Decimal("2.00"),
    }


def test_older_attempt_is_refused_and_its_files_are_removed(kit: TableKit) -> None:
    late = kit.stage(lines("2026-01", "1.00"), token=1)
    kit.publish(lines("2026-01", "2.00"), token=2)
    assert not kit.has_folder_of(late)
    late = kit.stage(lines("2026-01", "1.00"), token=1)
    with pytest.raises(RuntimeProviderError, match="attempt 1 was replaced by a newer one 2") as caught:
        kit.open().commit(late)
    assert caught.value.code == "RUN_002"
    assert not kit.has_folder_of(late)
    assert kit.read() == lines("2026-01", "2.00")


def test_same_rows_of_the_same_snapshot_are_not_committed_twice(kit: TableKit) -> None:
    first = kit.publish(lines("2026-01", "1.00"), token=1, content="c1")
    again = kit.stage(lines("2026-01", "1.00"), token=2, content="c1")
    committed = kit.open().commit(again)
    assert (committed.version, committed.repeated) == (first, True)
    assert not kit.has_folder_of(again)
    assert kit.read() == lines("2026-01", "1.00")
    changed = kit.open().commit(kit.stage(lines("2026-01", "5.00"), token=3, content="c2"))
    assert not changed.repeated
    assert kit.read() == lines("2026-01", "5.00")


def test_rows_are_committed_again_when_others_have_replaced_them(kit: TableKit) -> None:
    kit.publish(lines("2026-01", "1.00"), content="c1")
    kit.publish(lines("2026-01", "9.00"), project="other")
    kit.publish(lines("2026-02", "9.00"), project="other", period="2026-02")
    committed = kit.open().commit(kit.stage(lines("2026-01", "1.00"), token=2, content="c1"))
    assert not committed.repeated
    assert [row["amount"] for row in kit.read() if row["_period"] == "2026-01"] == [Decimal("1.00")]


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [(("2026-01",), ("2026-01",)), ((), ("2026-01",)), (("2026-02",), ())],
    ids=["same period", "they overwrite", "we overwrite"],
)
def test_rows_of_another_project_are_not_replaced(
    kit: TableKit, theirs: tuple[str, ...], ours: tuple[str, ...]
) -> None:
    period = theirs[0] if theirs else "2026-01"
    kit.publish(lines(period, "1.00"), project="other", period=period, periods=theirs)
    request = kit.stage(lines("2026-01", "2.00"), periods=ours, shared=False)
    with pytest.raises(RuntimeProviderError, match="written by project 'other'") as caught:
        kit.open().check_rows(request.note)
    assert caught.value.code == "OUTPUT_002"
    with pytest.raises(RuntimeProviderError, match="written by project 'other'"):
        kit.open().commit(request)
    assert kit.read() == lines(period, "1.00")
    assert not kit.has_folder_of(request)


def test_periods_of_several_projects_are_shown_side_by_side(kit: TableKit) -> None:
    kit.publish(lines("2026-01", "1.00"), shared=False)
    kit.publish(lines("2026-02", "2.00"), project="other", period="2026-02", shared=False)
    kit.publish(lines("2026-01", "3.00"), token=2, shared=False)
    kit.publish(lines("2026-02", "4.00"), project="other", period="2026-02", token=2, shared=False)
    assert [str(row["amount"]) for row in kit.read()] == ["3.00", "4.00"]
    kit.publish(lines("2026-01", "5.00"), project="other", periods=(), token=3)
    with pytest.raises(RuntimeProviderError, match="its rows were written by project 'other'"):
        kit.publish(lines("2026-01", "6.00"), token=3, shared=False)


def test_files_that_were_committed_are_not_committed_again_after_others_have_replaced_them(kit: TableKit) -> None:
    request = kit.stage(lines("2026-01", "1.00"))
    version = kit.open().commit(request).version
    kit.publish(lines("2026-01", "9.00"), project="other")
    again = kit.open().commit(request)
    assert (again.version, again.repeated) == (version, True)
    assert kit.read() == lines("2026-01", "9.00")


@pytest.mark.parametrize("landed", [True, False])
def test_lost_answer_is_found_and_not_repeated(kit: TableKit, monkeypatch: Any, landed: bool) -> None:
    kit.publish(lines("2026-01", "1.00"))
    table = kit.open()
    commit_on, sent = type(table).commit_on, []

    def lose_answer(self: Any, head: Any, request: Any) -> str:
        sent.append(request)
        if len(sent) > 1:
            return commit_on(self, head, request)
        if landed:
            commit_on(self, head, request)
        raise AnswerLostError

    monkeypatch.setattr(type(table), "commit_on", lose_answer)
    request = kit.stage(lines("2026-01", "2.00"), token=2)
    committed = table.commit(request)
    assert (committed.repeated, len(sent)) == ((True, 1) if landed else (False, 2))
    assert kit.read() == lines("2026-01", "2.00")
    assert kit.has_folder_of(request)
    assert _count_versions(kit) == 2


def test_answers_that_stay_lost_are_worth_a_retry(kit: TableKit, monkeypatch: Any) -> None:
    table = kit.open()

    def lose_answer(self: Any, head: Any, request: Any) -> str:
        raise AnswerLostError

    monkeypatch.setattr(type(table), "commit_on", lose_answer)
    request = kit.stage(lines("2026-01", "2.00"), token=2)
    with pytest.raises(InfrastructureError):
        table.commit(request)
    assert kit.has_folder_of(request)
    monkeypatch.undo()
    assert not kit.open().commit(request).repeated


def test_commits_for_other_periods_do_not_conflict(kit: TableKit) -> None:
    base = kit.publish(lines("2026-01", "1.00"))
    request = with_base(kit.stage(lines("2026-01", "2.00"), token=2), base)
    kit.publish(lines("2026-02", "3.00"), project="other", period="2026-02")
    kit.open().commit(request)
    assert {row["_period"]: row["amount"] for row in kit.read()} == {
        "2026-01": Decimal("2.00"),
        "2026-02": Decimal("3.00"),
    }


@pytest.mark.parametrize("periods", [("2026-01",), ()], ids=["same period", "whole table"])
def test_commit_of_others_about_the_same_rows_is_run_002(kit: TableKit, periods: tuple[str, ...]) -> None:
    base = kit.publish(lines("2026-01", "1.00"))
    request = with_base(kit.stage(lines("2026-01", "2.00"), token=2), base)
    kit.publish(lines("2026-01", "3.00"), project="other", periods=periods)
    with pytest.raises(RuntimeProviderError, match="project other for period 2026-01 has replaced rows") as caught:
        kit.open().commit(request)
    assert caught.value.code == "RUN_002"
    assert kit.read() == lines("2026-01", "3.00")


def test_table_that_appeared_meanwhile_is_looked_at(kit: TableKit) -> None:
    request = with_base(kit.stage(lines("2026-01", "2.00")), None)
    kit.publish(lines("2026-02", "3.00"), project="other", period="2026-02")
    kit.open().commit(request)
    assert len(kit.read()) == 2
    request = with_base(kit.stage(lines("2026-03", "2.00"), period="2026-03"), None)
    kit.publish(lines("2026-03", "3.00"), project="other", period="2026-03")
    with pytest.raises(RuntimeProviderError, match="has replaced rows of period 2026-03"):
        kit.open().commit(request)


def test_rows_that_a_stranger_adds_are_a_conflict_in_the_same_period_only(kit: TableKit) -> None:
    base = kit.publish(lines("2026-01", "1.00"))
    first = with_base(kit.stage(lines("2026-01", "2.00"), token=2), base)
    second = with_base(kit.stage(lines("2026-02", "2.00"), period="2026-02"), base)
    append_as_stranger(kit, lines("2026-01", "5.00"))
    with pytest.raises(RuntimeProviderError, match="another writer has replaced rows of period 2026-01") as caught:
        kit.open().commit(first)
    assert caught.value.code == "RUN_002"
    kit.open().commit(second)
    assert len(kit.read()) == 3


def test_history_that_is_gone_is_run_002(kit: TableKit) -> None:
    kit.publish(lines("2026-01", "1.00"))
    request = with_base(kit.stage(lines("2026-01", "2.00"), token=2), "99999")
    with pytest.raises(RuntimeProviderError, match="its history since version 99999 is gone") as caught:
        kit.open().commit(request)
    assert caught.value.code == "RUN_002"


def test_table_that_was_made_anew_meanwhile_is_run_002(kit: TableKit) -> None:
    kit.publish(lines("2026-02", "1.00"), period="2026-02")
    state = kit.open().find_state()
    drop_table(kit)
    kit.publish(lines("2026-01", "7.00"), project="start", period="2026-01")
    append_as_stranger(kit, lines("2026-02", "8.00"))
    before = kit.read()
    request = replace(with_base(kit.stage(lines("2026-01", "2.00"), token=2), state.version), table_id=state.table_id)
    with pytest.raises(RuntimeProviderError, match="is not the table at which the run began") as caught:
        kit.open().commit(request)
    assert caught.value.code == "RUN_002"
    assert kit.read() == before


def test_table_of_the_same_name_in_another_catalog_is_run_002(kit: TableKit, tmp_path: Path) -> None:
    kit.publish(lines("2026-02", "1.00"), period="2026-02")
    state = kit.open().find_state()
    other = replace(kit, root=tmp_path / "other")
    other.root.mkdir()
    other.publish(lines("2026-02", "9.00"), period="2026-02", project="theirs")
    request = replace(with_base(other.stage(lines("2026-01", "2.00")), state.version), table_id=state.table_id)
    with pytest.raises(RuntimeProviderError, match="is not the table at which the run began") as caught:
        other.open().commit(request)
    assert caught.value.code == "RUN_002"
    assert other.read() == lines("2026-02", "9.00")


def test_table_that_was_dropped_meanwhile_is_run_002(kit: TableKit) -> None:
    kit.publish(lines("2026-01", "1.00"))
    state = kit.open().find_state()
    drop_table(kit)
    request = replace(with_base(kit.stage(lines("2026-01", "2.00"), token=2), state.version), table_id=state.table_id)
    with pytest.raises(RuntimeProviderError, match="is not the table at which the run began") as caught:
        kit.open().commit(request)
    assert caught.value.code == "RUN_002"
    assert kit.open().find_state().version is None


def test_unpartitioned_table_is_replaced_by_period_where_files_allow_it(kit: TableKit) -> None:
    kit.publish(lines("2026-01", "1.00"), periods=())
    if kit.format == "delta":
        with pytest.raises(RuntimeProviderError, match="it is not partitioned, so that"):
            kit.publish(lines("2026-01", "2.00"), token=2)
        return
    append_as_stranger(kit, lines("2026-02", "2.00"))
    kit.publish(lines("2026-01", "3.00"), token=2)
    assert {row["_period"]: row["amount"] for row in kit.read()} == {
        "2026-01": Decimal("3.00"),
        "2026-02": Decimal("2.00"),
    }
    append_as_stranger(kit, [*lines("2026-01", "4.00"), *lines("2026-02", "4.00")])
    request = kit.stage(lines("2026-01", "5.00"), token=3)
    for refused in (lambda: kit.open().check_rows(request.note), lambda: kit.open().commit(request)):
        with pytest.raises(RuntimeProviderError, match="hold rows of other periods too") as caught:
            refused()
        assert caught.value.code == "OUTPUT_002"


@pytest.mark.parametrize(
    ("column", "transform", "said"),
    [
        ("account", BucketTransform(4), r"bucket\[4\]\(account\)"),
        ("account", IdentityTransform(), r"identity\(account\)"),
        ("_period", BucketTransform(4), r"bucket\[4\]\(_period\)"),
        ("amount", TruncateTransform(10), r"truncate\[10\]\(amount\)"),
        ("_period", TruncateTransform(4), None),
        ("_period", IdentityTransform(), None),
    ],
)
@pytest.mark.parametrize("periods", [("2026-01",), ()], ids=["period", "overwrite"])
def test_partitions_unknown_to_the_files_of_a_period_are_refused_before_the_job(
    tmp_path: Path, column: str, transform: Any, said: str | None, periods: tuple[str, ...]
) -> None:
    kit = TableKit("iceberg", tmp_path)
    make_partitioned(kit, column, transform)
    request = kit.stage(lines("2026-01", "1.00", "2.00"), periods=periods)
    if said is None:
        kit.open().check_output(request.columns, by_period=bool(periods))
        kit.open().commit(request)
        assert len(kit.read()) == 2
        return
    with pytest.raises(RuntimeProviderError, match=f"it is partitioned by {said}") as caught:
        kit.open().check_output(request.columns, by_period=bool(periods))
    assert caught.value.code == "OUTPUT_002"


def test_table_without_period_column_is_only_overwritten(kit: TableKit) -> None:
    kit.publish([{"account": "A0"}], columns=LEDGER[:1], periods=())
    with pytest.raises(RuntimeProviderError) as caught:
        kit.publish(lines("2026-01", "1.00"), token=2)
    assert caught.value.code == "OUTPUT_002"
    kit.publish([{"account": "A1"}], columns=LEDGER[:1], periods=(), token=3)
    assert kit.read() == [{"account": "A1"}]


def test_committed_files_are_never_removed(kit: TableKit) -> None:
    first = kit.stage(lines("2026-01", "1.00"), token=1)
    version = kit.open().commit(first).version
    abandoned = kit.stage(lines("2026-01", "6.00"), token=2)
    kit.publish(lines("2026-01", "2.00"), token=3)
    assert kit.has_folder_of(first)
    assert not kit.has_folder_of(abandoned)
    assert kit.read(version) == lines("2026-01", "1.00")


@pytest.mark.parametrize("inside", [True, False], ids=["in an attempt", "in its place"])
def test_what_a_symbolic_link_leads_to_is_not_removed(kit: TableKit, tmp_path: Path, inside: bool) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in ("_uncommitted", "ledger.xlsx"):
        (elsewhere / name).write_text("theirs")
    kit.publish(lines("2026-01", "1.00"))
    abandoned = kit.stage(lines("2026-01", "6.00"), token=2)
    folder = kit.folder_of(abandoned)
    if inside:
        (folder / "link").symlink_to(elsewhere, target_is_directory=True)
    else:
        shutil.rmtree(folder)
        folder.symlink_to(elsewhere, target_is_directory=True)
    kit.publish(lines("2026-01", "2.00"), token=3)
    assert sorted(path.name for path in elsewhere.iterdir()) == ["_uncommitted", "ledger.xlsx"]
    assert kit.read() == lines("2026-01", "2.00")


def test_run_key_of_the_history_names_project_period_snapshot_and_token(kit: TableKit) -> None:
    request = kit.stage(lines("2026-01", "1.00"), token=7)
    kit.open().commit(request)
    (change,) = kit.open().read_head().list_changes()  # type: ignore[attr-defined]
    assert change.note == replace(request.note)


def append_as_stranger(kit: TableKit, rows: list[dict[str, Any]]) -> None:
    """Append rows by the format's own library."""
    import pyarrow as pa

    data = pa.Table.from_pylist(
        rows, schema=pa.schema([("account", pa.string()), ("amount", pa.decimal128(18, 2)), ("_period", pa.string())])
    )
    if kit.format == "delta":
        from deltalake import write_deltalake

        uri, options = kit.address.name.removeprefix("file://"), dict(kit.properties) or None
        write_deltalake(uri, data, mode="append", storage_options=options)
        return
    from pyiceberg.catalog import load_catalog

    with load_catalog("lake", **kit.address.properties) as catalog:
        catalog.load_table(kit.address.name).append(data)


def make_partitioned(kit: TableKit, column: str, transform: Any) -> None:
    """Make an empty Iceberg table for a ledger, as its owner would."""
    from pyiceberg.catalog import load_catalog

    schema = make_schema(LEDGER)
    spec = PartitionSpec(PartitionField(schema.find_field(column).field_id, 1000, transform, "part"))
    with load_catalog("lake", **kit.address.properties) as catalog:
        catalog.create_namespace("finance")
        catalog.create_table(kit.address.name, schema, partition_spec=spec)


def drop_table(kit: TableKit) -> None:
    """Remove a table as its owner would, with all its files."""
    if kit.format == "delta":
        shutil.rmtree(kit.root / kit.name)
        return
    from pyiceberg.catalog import load_catalog

    with load_catalog("lake", **kit.address.properties) as catalog:
        catalog.purge_table(kit.address.name)


def _count_versions(kit: TableKit) -> int:
    return len(kit.open().read_head().list_changes())  # type: ignore[attr-defined]


@pytest.mark.parametrize("ahead", [0, 4_102_444_800_000], ids=["replaced", "clock ahead"])
def test_newer_attempt_is_reported_before_the_job_with_the_way_out_when_a_clock_was_ahead(
    kit: TableKit, ahead: int
) -> None:
    kit.publish(lines("2026-01", "1.00"), token=2 + ahead)
    request = kit.stage(lines("2026-01", "2.00"), token=1_770_000_000_000 if ahead else 1)
    for refused in (lambda: kit.open().check_rows(request.note), lambda: kit.open().commit(request)):
        with pytest.raises(RuntimeProviderError) as caught:
            refused()
        assert caught.value.code == "RUN_002"
        assert ("(at 2026-02-02 02:40:00 UTC) was replaced" in str(caught.value)) is bool(ahead)
        assert ("runs --release" in str(caught.value.problems[0].hint)) is bool(ahead)
    assert kit.open().find_newest_token(request.note) == 2 + ahead


@pytest.mark.parametrize("place", ["period=2026-01/a.parquet", "a.parquet", None])
def test_delta_table_is_not_made_among_files_of_others(tmp_path: Path, place: str | None) -> None:
    kit = TableKit("delta", tmp_path)
    (tmp_path / "ledger" / "runtime-of-an-attempt").mkdir(parents=True)
    if place is None:
        return kit.open().check_output(LEDGER, by_period=True)
    file = tmp_path / "ledger" / place
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(b"PAR1")
    with pytest.raises(RuntimeProviderError, match=r"holds files already, such as .*, and is no Delta table") as caught:
        kit.open().check_output(LEDGER, by_period=True)
    assert caught.value.code == "OUTPUT_002"
    return None
