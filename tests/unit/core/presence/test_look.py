"""A look at the locations of a plan: tables of databases, stores that nothing knows, and what a run can do without."""

from __future__ import annotations

import sqlite3
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_runtime.core.presence import Presences, look_for_data
from airflow_provider_runtime.core.presence.databases import make_url
from spark_jobs.contract.plan import Plan
from spark_jobs.contract.tables import Location, Mark, Table, Temporal


def look(*locations: Location, mode: Any = "period", role: Any = "input", reads: Any = dict) -> Presences:
    temporal = Temporal(mode, "fiscal_period")
    table = Table(role, "gl", 1, "journal", (), temporal, locations, "input", as_of=date(2026, 1, 1))
    marks = {"input": Mark("gl.yaml", 3, 5, "input_dataset_id")}
    plan = Plan({"input": table}, "input", (), (), marks, "close")

    def refuse(uri: str, reference: str | None) -> Any:
        if uri.startswith("down:"):
            raise ConnectionError("key=4711")
        raise LookupError("no file system of Airflow for 'abc:'")

    return look_for_data(plan, refuse, reads)


def at(uri: object, **more: Any) -> Location:
    return Location(kind="files", format="parquet", uri=str(uri), **more)


def test_missing_file_is_reported_with_its_place_and_one_that_may_be_missing_is_not(tmp_path: Path) -> None:
    found = look(at(tmp_path / "a"), at(tmp_path / "b", on_missing="empty"), at(tmp_path))
    assert [presence.status for presence in found.found] == ["no", "no", "no"]
    assert [presence.place for presence in found.missing] == [str(tmp_path / "a"), str(tmp_path)]
    (problem, _) = found.make_error("waiting 3 days").problems
    assert problem.code == "DATA_001"
    assert f"no data at {tmp_path / 'a'} after waiting 3 days" in problem.message
    assert (problem.location.file, problem.location.line) == ("gl.yaml", 3)
    assert look(at(tmp_path / "a"), role="append").make_error("x").problems[0].code == "APPEND_008"


def test_store_that_nothing_knows_is_not_waited_for_and_one_that_fails_is() -> None:
    found = look(at("abc://bucket/a"), at("down://bucket/a"))
    assert [presence.status for presence in found.found] == [
        "not known (no file system of Airflow for 'abc:')",
        "no (cannot be asked now: ConnectionError)",
    ]
    assert [presence.place for presence in found.missing] == ["down://bucket/a"]


@pytest.mark.parametrize(
    ("table", "mode", "period", "is_there"),
    [
        ("journal", "period", "2026-01", True),
        ("journal", "period", "2026-02", False),
        ("JOURNAL", "period", "2026-01", True),
        ("journal", "snapshot", "2026-02", True),
        ("journal_view", "period", "2026-01", True),
        ("rates", "period", "2026-01", True),
        ("nothing", "snapshot", "2026-01", False),
    ],
)
def test_table_of_a_database_is_there_with_rows_of_the_period(
    table: str, mode: str, period: str, is_there: bool, tmp_path: Path
) -> None:
    with sqlite3.connect(tmp_path / "dwh.db") as connection:
        connection.execute("CREATE TABLE journal (id text, fiscal_period text)")
        connection.execute("CREATE VIEW journal_view AS SELECT * FROM journal")
        connection.execute("CREATE TABLE rates (id text)")
        connection.execute("INSERT INTO journal VALUES ('a', '2026-01')")
    options = {"url": f"jdbc:sqlite:{tmp_path / 'dwh.db'}"}
    found = look(Location(kind="jdbc", format="jdbc", table=table, options=options, period=period), mode=mode)
    assert [presence.is_there for presence in found.found] == [is_there]


def test_database_without_a_way_to_ask_it_is_not_known() -> None:
    options = {"url": "jdbc:oracle:thin:@db:1521/x"}
    (presence,) = look(Location(kind="jdbc", format="jdbc", table="t", options=options)).found
    assert presence.status == "not known (only Spark can ask this database)"
    (presence,) = look(Location(kind="jdbc", format="jdbc", table="t", options=options), reads=None).found
    assert presence.status == "not known (not asked for a snapshot)"


def test_address_of_a_database_in_python() -> None:
    url = make_url("jdbc:postgresql://db:5433/dwh?currentSchema=fin&sslmode=require", {"user": "u", "password": "p@"})
    shown = url.render_as_string(hide_password=False)
    assert shown == "postgresql+psycopg://u:p%40@db:5433/dwh?options=-csearch_path%3Dfin&sslmode=require"
    assert make_url("jdbc:mysql://db/x", {}).render_as_string() == "mysql+pymysql://db/x"
