"""Snapshots and reports from elsewhere: refused with a code, or taken; never a traceback, never run as code."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from airflow_provider_runtime.cli.run_summary import print_plan
from airflow_provider_runtime.core.catalog.catalog import Catalog
from airflow_provider_runtime.core.errors import RuntimeProviderError, SnapshotError
from airflow_provider_runtime.core.planning.snapshot.later_run import list_problems_since
from airflow_provider_runtime.core.planning.snapshot.store import open_snapshot
from airflow_provider_runtime.core.registry.memory import MemoryRegistry
from airflow_provider_runtime.core.runs.begin import begin_attempt
from airflow_provider_runtime.core.runs.finish import finish_attempt
from airflow_provider_runtime.core.runs.report import public_report, read_report
from tests.unit.core.planning.resolve_builder import MONTHLY, OUTPUT, resolve, write_project, write_resolver

DOCUMENT: dict[str, Any] = json.loads(resolve(write_resolver(MONTHLY), write_project()).content)
VALUES: list[Any] = [
    None, True, -1, 0, 2**70, 1.5, "", "x", "2026-13-01", "\x00", "\ud800", "a\nb", "../../etc", [], [[]], {}, {"a": 1},
    ["x"], "0001-01-01T00:00:00+14:00", float("inf"),
    "reflect('java.lang.System', 'exit', 3)", "`a` OR (SELECT 1) IS NULL", "jdbc", "x" * 5000,
]  # fmt: skip
REPORT: dict[str, Any] = {
    "snapshot_sha256": "", "attempt": 1, "status": "succeeded", "run_id": "r", "period": "2026-01",
    "operations": [{"seq": 10, "type": "update", "name": "u", "rows_affected": 1, "rows_after": 1}],
    "outputs": [{"seq": 90, "destination": "d", "rows": 1, "columns": ["a"], "registered_dataset": "DS",
                 "slice": {"uri": "file:/x", "rows": 1, "content": None}}],
    "timings": {}, "error": None,
}  # fmt: skip


def list_places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every path into a JSON value but the root."""
    found = [path] if path else []
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in entries:
        found += list_places(entry, (*path, key))
    return found


@st.composite
def mutate(draw: st.DrawFn, document: dict[str, Any]) -> dict[str, Any]:
    changed = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.sampled_from(list_places(changed) or [("x",)]))
        holder: Any = changed
        for key in place[:-1]:
            holder = holder[key]
        if isinstance(holder, dict) and draw(st.booleans()):
            holder.pop(place[-1], None)
        else:
            holder[place[-1]] = copy.deepcopy(draw(st.sampled_from(VALUES)))
    return changed


@contextmanager
def refused_as_snapshot_001(kind: type[RuntimeProviderError]) -> Iterator[None]:
    """Nothing but this code, on one line, comes out."""
    caught = None
    try:
        yield
    except kind as error:
        caught = error
    assert caught is None or (caught.code == "SNAPSHOT_001" and str(caught).isprintable())


def encode(document: dict[str, Any]) -> tuple[bytes, str]:
    content = json.dumps(document).encode()
    return content, hashlib.sha256(content).hexdigest()


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(mutate(DOCUMENT))
def test_changed_snapshot_with_a_right_digest_is_taken_or_refused_with_a_code(document: dict[str, Any]) -> None:
    content, sha256 = encode(document)
    snapshot = None
    with refused_as_snapshot_001(SnapshotError):
        snapshot = open_snapshot(content, sha256)
    if snapshot is None:
        return
    snapshot.plan.list_credential_refs()
    attempt = begin_attempt(MemoryRegistry(), snapshot)
    assert attempt.project_id == snapshot.project.id
    print_plan(snapshot, is_own=False)
    list_problems_since(Catalog(Path()), snapshot, allow_closed=True)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("settings",), None),
        (("settings", "trace"), 1),
        (("settings", "trace"), {"input": 1}),
        (("settings", "trace"), {"input": {}}),
        (("tables", "input", "locations", 0, "on_missing"), None),
    ],
)
def test_snapshot_that_lacks_what_is_shown_of_it_is_shown_or_refused(place: tuple[Any, ...], value: object) -> None:
    document = copy.deepcopy(DOCUMENT)
    holder = document["plan"]
    for key in place[:-1]:
        holder = holder[key]
    if value is None:
        holder.pop(place[-1], None)
    else:
        holder[place[-1]] = value
    with refused_as_snapshot_001(SnapshotError):
        snapshot = open_snapshot(*encode(document))
        print_plan(snapshot, is_own=False)
        list_problems_since(Catalog(Path()), snapshot, allow_closed=True)


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"null", b"\xff", b"[" * 100_000, b'{"snapshot_version": 1}', b"1e999"]
)
def test_bytes_that_are_not_a_snapshot_are_refused(content: bytes) -> None:
    digest = hashlib.sha256(content).hexdigest()
    with pytest.raises(SnapshotError, match="SNAPSHOT_001"):
        open_snapshot(content, digest)


def test_snapshot_that_asks_for_java_is_refused() -> None:
    document = copy.deepcopy(DOCUMENT)
    update = next(item for item in document["plan"]["operations"] if item["type"] == "update")
    update["assignments"][0]["sql"] = "CAST(reflect('java.lang.Runtime', 'getRuntime') AS STRING)"
    with pytest.raises(SnapshotError, match="SQL that no expression compiles to"):
        open_snapshot(*encode(document))


PAIRS = """
    - seq: 10
      name: pairs
      type: append
      selector: accounts.code IS NOT NULL
      arguments:
        source: {dataset_id: staff}
        expand: {alias: p, on: p.code = journal_id, columns: [{column: journal_id, expression: p.title}]}
"""


@pytest.mark.parametrize(
    "place",
    [("condition",), ("rows", "where"), ("rows", "joins", 0, "condition"), ("alias",), ("rows", "joins", 0, "alias")],
)
def test_pairs_that_ask_for_java_are_refused(place: tuple[Any, ...]) -> None:
    document = json.loads(resolve(write_resolver(MONTHLY), write_project(PAIRS + OUTPUT)).content)
    assert open_snapshot(*encode(document)).plan.operations[0].type == "append"
    holder: Any = next(item for item in document["plan"]["operations"] if item["type"] == "append")["expand"]
    for key in place[:-1]:
        holder = holder[key]
    assert holder[place[-1]]
    holder[place[-1]] = "reflect('java.lang.Runtime', 'getRuntime') IS NULL"
    with pytest.raises(SnapshotError, match=r"SQL that no expression compiles to|alias that is not a name"):
        open_snapshot(*encode(document))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("run_timestamp",), "0001-01-01T00:00:00+14:00"),
        (("project", "version"), float("inf")),
        (("project", "name"), "\ud800"),
        (("plan", "marks", "m"), {"file": "\ud800"}),
    ],
)
def test_values_that_python_cannot_hold_or_write_are_refused(place: tuple[str, ...], value: object) -> None:
    document = copy.deepcopy(DOCUMENT)
    holder = document
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = value
    with pytest.raises(SnapshotError, match="SNAPSHOT_001"):
        open_snapshot(*encode(document))


@pytest.mark.parametrize("number", [0, -1, 2**31, 10**30])
@pytest.mark.parametrize(
    "place",
    [("project", "version"), ("plan", "settings", "definitions", 0, "version"), ("plan", "operations", 0, "seq")],
)
def test_numbers_that_a_registry_cannot_hold_are_refused(place: tuple[Any, ...], number: int) -> None:
    document = copy.deepcopy(DOCUMENT)
    holder: Any = document
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = number
    with pytest.raises(SnapshotError, match="SNAPSHOT_001"):
        open_snapshot(*encode(document))


@pytest.mark.parametrize("name", ["../../elsewhere", "a/b", "", "..", "a\nb", "2026-01\n", ".hidden"])
@pytest.mark.parametrize("place", [("period", "identifier"), ("project", "id")])
def test_snapshot_whose_period_or_project_would_leave_its_folder_is_refused(place: tuple[str, str], name: str) -> None:
    document = copy.deepcopy(DOCUMENT)
    document[place[0]][place[1]] = name
    content, sha256 = encode(document)
    with pytest.raises(SnapshotError, match="SNAPSHOT_001"):
        open_snapshot(content, sha256)


@settings(max_examples=300, deadline=None)
@given(mutate(REPORT))
@example({**REPORT, "outputs": None})
def test_changed_report_registers_or_is_refused_with_a_code(report: dict[str, Any]) -> None:
    registry = MemoryRegistry()
    snapshot = open_snapshot(*encode(DOCUMENT))
    attempt = begin_attempt(registry, snapshot)
    given_report = {**report, "snapshot_sha256": snapshot.sha256, "attempt": attempt.token}
    with refused_as_snapshot_001(RuntimeProviderError):
        read = read_report(json.dumps(given_report).encode())
        public_report(read, finish_attempt(registry, attempt, snapshot, read))
