"""Resolving a whole project: pins, periods, registry, drafts, and the document."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from airflow_provider_runtime.core.catalog.catalog import registered_dataset_id
from airflow_provider_runtime.core.errors import RuntimeProviderError
from airflow_provider_runtime.core.planning.snapshot.builder import build_snapshot
from airflow_provider_runtime.core.planning.snapshot.table_chooser import LocationRequest
from airflow_provider_runtime.core.registry.memory import MemoryRegistry
from airflow_provider_runtime.core.registry.ports import Registry
from airflow_provider_runtime.core.runs.begin import begin_attempt
from airflow_provider_runtime.core.runs.finish import finish_attempt
from spark_jobs.contract.documents import write_document
from spark_jobs.contract.report import OutputReport, Report, SliceReport
from spark_jobs.contract.snapshot import Snapshot
from spark_jobs.contract.tables import Location
from tests.unit.core.planning.resolve_builder import (
    CONVERT,
    MONTHLY,
    OPTIONS,
    OUTPUT,
    list_locations,
    list_problems,
    load,
    resolve,
    write_project,
    write_resolver,
)

GOLDEN = Path(__file__).parent / "golden" / "snapshot.json"
RESOLVER = write_resolver(MONTHLY)
CONSUMER = """
project:
  id: p2
  name: consumer
  version: 1
  level: {level}
  input_dataset_id: gl
  operations:
    - seq: 10
      name: compare
      type: update
      arguments:
        joins: [{{alias: old, dataset_id: {reference}, {pin}on: 'transactions.journal_id = old.journal_id'}}]
        assignments: [{{column: before, expression: old.converted}}]
    - seq: 20
      name: add
      type: append
      arguments:
        source: {{dataset_id: {reference}}}
        source_selector: 'amount > 0'
        aggregation: {{group_by: [currency], aggregations: [{{column: amount, expression: SUM(amount)}}]}}
"""


def write_consumer(reference: str = "Converted GL", pin: int | None = None, level: str = "month") -> str:
    return CONSUMER.format(reference=reference, level=level, pin=f"dataset_version: {pin}, " if pin else "")


def publish(registry: Registry, snapshot: Snapshot, rows: int = 3) -> str:
    """Register what a run of this snapshot would have written, and return the slice's address."""
    # The options of these tests give every snapshot the same.
    snapshot = replace(snapshot, run_id=snapshot.sha256[:12])
    attempt = begin_attempt(registry, snapshot)
    (output,) = snapshot.plan.outputs
    assert output.slice is not None
    uri = f"{output.slice.uri_prefix}/{snapshot.period.identifier}/{attempt.token}"
    written = OutputReport(90, "d", rows, (), slice=SliceReport(uri, rows))
    period = snapshot.period.identifier
    report = Report(snapshot.sha256, attempt.token, "succeeded", snapshot.run_id, period, outputs=(written,))
    finish_attempt(registry, attempt, snapshot, report)
    return uri


def test_snapshot_of_a_project_is_the_golden_one() -> None:
    content = resolve(RESOLVER, write_project()).content
    shown = json.dumps(json.loads(content), indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(shown, encoding="utf-8")
    assert shown == GOLDEN.read_text(encoding="utf-8")


def test_snapshot_resolved_twice_is_the_same_but_for_run_id_and_timestamp() -> None:
    assert resolve(RESOLVER, write_project()).sha256 == resolve(RESOLVER, write_project()).sha256
    fresh = replace(OPTIONS, run_id=None, run_timestamp=None)
    first, second = resolve(RESOLVER, write_project(), options=fresh), resolve(RESOLVER, write_project(), options=fresh)
    assert first.run_id != second.run_id
    moment = first.run_timestamp
    assert abs((datetime.now(UTC) - moment).total_seconds()) < 60


def test_every_table_of_a_plan_has_the_mark_of_its_place() -> None:
    plan = resolve(RESOLVER, write_project()).plan
    assert set(plan.tables) == {"input", "join:10:fx"}
    assert {table.mark for table in plan.tables.values()} <= set(plan.marks)


def test_versions_latest_active_or_pinned_are_written_down() -> None:
    snapshot = resolve(RESOLVER, write_project(CONVERT.replace("FX rates,", "FX rates, dataset_version: 1,")))
    chosen = write_document(snapshot.resolver_snapshot)
    assert chosen["input_dataset_version"] == 3
    assert [(join["alias"], join["dataset_id"], join["dataset_version"]) for join in chosen["join_datasets"]] == [
        ("fx", "fx", 1)
    ]
    assert [(found["alias"], found["dataset_id"]) for found in chosen["lookup_datasets"]] == [("people", "staff")]
    assert snapshot.plan.settings.trace["join:10:fx"].version == "1 (pinned)"
    snapshot = resolve(RESOLVER, write_project(input_dataset_version="1"))
    assert snapshot.resolver_snapshot.input_dataset_version == 1


def test_joins_each_have_an_entry_in_seq_and_list_order() -> None:
    second = CONVERT.replace("seq: 10", "seq: 5").replace("converted", "other")
    second = second.replace("[{alias: fx,", "[{alias: b, dataset_id: staff, on: 'currency = b.code'}, {alias: fx,")
    joins = resolve(RESOLVER, write_project(CONVERT + second)).resolver_snapshot.join_datasets
    assert [(join.operation_seq, join.alias) for join in joins] == [(5, "b"), (5, "fx"), (10, "fx")]


def test_lookup_that_nothing_reads_is_pinned_but_not_located() -> None:
    rule = (
        "{name: gl only, when: \"table.name = 'transactions'\", strategy: {type: path, datasource_id: lake, path: gl}}"
    )
    snapshot = resolve(write_resolver(rule), write_project(OUTPUT))
    assert set(snapshot.plan.tables) == {"input"}
    used = "    - {seq: 1, name: u, type: update, arguments: {assignments: [{column: t, expression: people.title}]}}\n"
    assert [p.code for p in list_problems(write_resolver(rule), write_project(used))] == ["RESOLVE_003"]
    assert set(resolve(RESOLVER, write_project(used)).plan.tables) == {"input", "lookup:people"}


def test_as_of_is_the_period_start_or_what_was_asked_for() -> None:
    assert resolve(RESOLVER, write_project()).as_of == date(2026, 1, 1)
    asked = replace(OPTIONS, as_of=date(2026, 1, 15))
    assert resolve(RESOLVER, write_project(), options=asked).as_of == date(2026, 1, 15)


def test_project_snapshot_is_verbatim_but_for_secrets_meant_for_spark() -> None:
    conf = (
        "{spark.hadoop.fs.s3a.secret.key: canary-1, spark.x.url: 'jdbc:pg://u:canary-2@h/d', spark.memory: 2g, n: .6}"
    )
    snapshot = resolve(RESOLVER, write_project(selectors="{A: 'amount > 0'}", airflow=f"{{spark: {{conf: {conf}}}}}"))
    assert b"canary" not in snapshot.content
    shown = snapshot.project_snapshot
    assert shown["selectors"] == {"A": "amount > 0"}
    assert shown["airflow"]["spark"]["conf"]["spark.memory"] == "2g"


def test_everything_wrong_is_reported_at_once() -> None:
    broken = CONVERT.replace("fx.rate", "fx.nothing").replace("dataset_id: FX rates", "dataset_id: fx")
    problems = list_problems(RESOLVER, write_project(broken + OUTPUT.replace("lake", "nowhere")), period="2026-13")
    assert {problem.code for problem in problems} >= {"JOIN_008", "OUTPUT_002", "PERIOD_001"}
    assert all(problem.location.file for problem in problems)


def test_unknown_inactive_and_disabled_projects_are_refused() -> None:
    problem = list_problems(RESOLVER, write_project(), project="conversio")[0]
    assert (problem.code, problem.hint) == ("PROJECT_001", "did you mean 'conversion'?")
    assert list_problems(RESOLVER, write_project(status="inactive"))[0].code == "PROJECT_002"


def test_mistake_in_another_project_does_not_matter() -> None:
    other = write_project("    - {seq: 0, name: x, type: nothing}\n", id="p9", name="other")
    assert resolve(RESOLVER, write_project(), other).project.id == "p1"


# Drafts


def test_column_that_the_folders_of_the_sandbox_take_the_place_of_is_refused() -> None:
    operations = """
    - {seq: 10, name: p, type: update, arguments: {assignments: [{column: period, expression: currency}]}}
    - {seq: 20, name: o, type: output, arguments: {destination: {datasource_id: dwh, table: gl}}}
"""
    assert resolve(RESOLVER, write_project(operations))
    (problem,) = list_problems(RESOLVER, write_project(operations, status="draft"))
    assert problem.code == "OUTPUT_002"
    assert problem.message.startswith("in the sandbox, a file output cannot have the column 'period'")


def test_draft_writes_below_the_sandbox_and_registers_nothing() -> None:
    plan = resolve(RESOLVER, write_project(status="draft")).plan
    output = plan.outputs[-1]
    assert output.destination.uri.startswith("file:///catalog/sandbox/p1/")
    assert output.slice is None
    assert plan.settings.definitions == ()
    named = replace(OPTIONS, sandbox="nowhere")
    assert list_problems(RESOLVER, write_project(status="draft"), options=named)[0].code == "PROJECT_002"


# Periods


@pytest.mark.parametrize(
    ("rules", "now", "code"),
    [
        ({"require_begun": True}, datetime(2025, 12, 31, 23, tzinfo=UTC), "PERIOD_003"),
        ({"require_ended": True}, datetime(2026, 1, 31, 23, tzinfo=UTC), "PERIOD_004"),
        ({"require_ended": True, "require_begun": True}, datetime(2025, 12, 31, tzinfo=UTC), "PERIOD_003"),
        ({"require_ended": True, "require_begun": True}, datetime(2026, 2, 1, tzinfo=UTC), None),
        ({}, datetime(2020, 1, 1, tzinfo=UTC), None),
    ],
)
def test_period_not_begun_or_not_ended_is_refused_when_asked(
    rules: dict[str, bool], now: datetime, code: str | None
) -> None:
    options = replace(OPTIONS, run_timestamp=now, **rules)  # type: ignore[arg-type]
    if code is None:
        resolve(RESOLVER, write_project(), options=options)
    else:
        assert [problem.code for problem in list_problems(RESOLVER, write_project(), options=options)] == [code]


@pytest.mark.parametrize(
    ("timezone", "first_second"),
    [("Asia/Tokyo", datetime(2026, 1, 31, 15, tzinfo=UTC)), ("America/New_York", datetime(2026, 2, 1, 5, tzinfo=UTC))],
)
def test_period_ends_by_the_clock_of_the_schedule(timezone: str, first_second: datetime) -> None:
    project = write_project(airflow=f"{{timezone: {timezone}}}")
    after = replace(OPTIONS, run_timestamp=first_second, require_ended=True)
    before = replace(after, run_timestamp=first_second - timedelta(seconds=1))

    resolve(RESOLVER, project, options=after)
    assert [problem.code for problem in list_problems(RESOLVER, project, options=before)] == ["PERIOD_004"]


def test_period_status_is_the_stricter_of_file_and_registry() -> None:
    calendar = """
calendar:
  id: fiscal
  levels: [{name: month}]
  periods:
    - {identifier: P1, level: month, start_date: 2026-01-01, end_date: 2026-01-28, status: closed}
    - {identifier: P2, level: month, start_date: 2026-01-29, end_date: 2026-02-25}
"""
    documents = (RESOLVER, calendar, write_project(calendar="fiscal"))
    allowed = replace(OPTIONS, allow_closed=True)
    registry = MemoryRegistry()
    assert list_problems(*documents, period="P1")[0].code == "PERIOD_002"
    assert resolve(*documents, period="P1", options=allowed, registry=registry).period.identifier == "P1"
    assert resolve(*documents, period="P2", registry=registry).period.identifier == "P2"
    registry.set_period_status("fiscal", "P2", "closed", who="me", reason="done")
    assert list_problems(*documents, period="P2", registry=registry)[0].code == "PERIOD_002"
    registry.set_period_status("fiscal", "P1", "locked", who="me", reason="audited")
    problem = list_problems(*documents, period="P1", options=allowed, registry=registry)[0]
    assert (problem.code, problem.message) == ("PERIOD_002", "period P1 is locked by me: audited")


# Registry


def test_definition_changed_after_use_is_catalog_005_but_drafts_may_change() -> None:
    registry = MemoryRegistry()
    publish(registry, resolve(RESOLVER, write_project(), registry=registry))
    changed = write_project(CONVERT.replace("amount * fx.rate", "amount + fx.rate") + OUTPUT)
    problems = list_problems(RESOLVER, changed, registry=registry)
    assert [(problem.code, problem.location.file) for problem in problems] == [("CATALOG_005", "3.yaml")]
    problems = list_problems(RESOLVER.replace("monthly", "other"), write_project(), registry=registry)
    assert [(problem.code, problem.location.file) for problem in problems] == [("CATALOG_005", "2.yaml")]
    renamed = write_project(CONVERT.replace("name: convert", "name: another name") + OUTPUT)
    assert resolve(RESOLVER, renamed, registry=registry)
    draft = changed.replace("version: 1", "version: 1\n  status: draft")
    assert resolve(RESOLVER, draft, registry=registry)


def test_registered_dataset_pinned_version_reads_the_slices_that_it_had() -> None:
    registry = MemoryRegistry()
    first = publish(registry, resolve(RESOLVER, write_project(), registry=registry))
    later = replace(OPTIONS, run_id="second")
    second = publish(registry, resolve(RESOLVER, write_project(), options=later, registry=registry), rows=4)
    producer = write_project()
    latest = resolve(RESOLVER, producer, write_consumer(), registry=registry, project="consumer")
    pinned = resolve(RESOLVER, producer, write_consumer(pin=1), registry=registry, project="consumer")
    by_id = write_consumer(registered_dataset_id("Converted GL"))
    assert [found.uri for found in list_locations(latest, "join:10:old")] == [second]
    assert [found.uri for found in list_locations(pinned, "join:10:old")] == [first]
    joined = write_document(pinned.resolver_snapshot)["join_datasets"][0]
    assert joined == {
        "operation_seq": 10,
        "alias": "old",
        "dataset_id": registered_dataset_id("Converted GL"),
        "dataset_version": 1,
        "resolver_id": "registry",
        "resolver_version": 1,
        "resolver_source": "dataset_resolver",
    }
    appended = write_document(pinned.resolver_snapshot)["append_datasets"]
    assert [(found["operation_seq"], found["dataset_version"]) for found in appended] == [(20, 2)]
    found = resolve(RESOLVER, producer, by_id, registry=registry, project="consumer")
    assert found.resolver_snapshot.join_datasets[0].dataset_version == 2
    assert "dataset" in {entry.kind for entry in found.plan.settings.definitions}
    assert registered_dataset_id("Converted GL") not in {e.id for e in found.plan.settings.definitions}
    # The producer's project may be gone from the catalog: the registry knows the dataset's schema.
    assert resolve(RESOLVER, write_consumer(), registry=registry, project="consumer")


def test_registering_reports_which_slices_a_changed_type_would_make_unreadable() -> None:
    registry = MemoryRegistry()
    for period in ("2025-12", "2026-01", "2026-02"):
        publish(registry, resolve(RESOLVER, write_project(), period=period, registry=registry))

    def change(expression: str) -> str:
        return write_project(CONVERT.replace("amount * fx.rate", expression) + OUTPUT).replace(
            "version: 1", "version: 2"
        )

    for narrower in ("ROUND(amount * fx.rate, 2)", "LEN(currency)", "currency"):
        (problem,) = list_problems(RESOLVER, change(narrower), registry=registry)
        assert problem.code == "OUTPUT_002"
        assert "column 'converted' of the dataset 'Converted GL' would be " in problem.message
        assert problem.message.endswith("which cannot hold the decimal(38,8) of its slices of 2025-12, 2026-02")
        assert problem.hint is not None
        assert problem.hint.endswith("or register the rows as a dataset of another name")
        assert (problem.location.file, problem.location.field) == (
            "3.yaml",
            "operations[1].arguments.register_as_dataset",
        )
    assert resolve(RESOLVER, change("amount * fx.rate + 1"), registry=registry)


def test_name_that_a_project_of_another_catalog_has_registered_is_refused() -> None:
    registry = MemoryRegistry()
    publish(registry, resolve(RESOLVER, write_project(), registry=registry))
    elsewhere = (RESOLVER, write_project(id="elsewhere"))
    (problem,) = list_problems(*elsewhere, period="2026-02", registry=registry)
    assert problem.code == "CATALOG_003"
    assert problem.message == "dataset 'Converted GL' is registered by project 'conversion' (id p1)"
    assert problem.location.field == "operations[1].arguments.register_as_dataset"
    # A snapshot that was made before meets it when it registers.
    with pytest.raises(RuntimeProviderError, match="is registered by project 'conversion'"):
        publish(registry, resolve(*elsewhere, period="2026-02"))
    # A newer version of the project that has registered it may.
    assert resolve(RESOLVER, write_project().replace("version: 1", "version: 2"), registry=registry)


def test_registered_dataset_rolls_months_up_to_a_quarter() -> None:
    registry = MemoryRegistry()
    uris = [
        publish(registry, resolve(RESOLVER, write_project(), period=p, registry=registry))
        for p in ("2026-02", "2026-01")
    ]
    snapshot = resolve(
        RESOLVER, write_consumer(level="quarter"), period="2026-Q1", registry=registry, project="consumer"
    )
    locations = list_locations(snapshot, "append:20")
    assert [(found.uri, found.period) for found in locations] == [(uris[1], "2026-01"), (uris[0], "2026-02")]
    assert locations[0].columns == ("journal_id", "currency", "amount", "converted")


def test_registered_dataset_without_the_period_or_any_version_is_refused() -> None:
    registry = MemoryRegistry()
    documents = (RESOLVER, write_project(), write_consumer())
    problems = list_problems(*documents, registry=registry, project="consumer")
    assert [problem.code for problem in problems] == ["JOIN_001", "APPEND_001"]
    assert problems[0].message == "Dataset Converted GL not found in MetadataStore"
    assert list_problems(*documents, project="consumer")[0].code == "JOIN_001"
    publish(registry, resolve(RESOLVER, write_project(), registry=registry))
    problems = list_problems(*documents, period="2026-02", registry=registry, project="consumer")
    assert [problem.code for problem in problems] == ["DATA_001", "APPEND_008"]
    problems = list_problems(RESOLVER, write_consumer(pin=7), registry=registry, project="consumer")
    assert [problem.code for problem in problems] == ["JOIN_003"]


def test_registered_dataset_overridden_needs_no_registry() -> None:
    consumer = write_consumer().replace(
        "  operations:", "  resolver_overrides: {Converted GL: lake-resolver}\n  operations:"
    )
    snapshot = resolve(RESOLVER, write_project(), consumer, project="consumer")
    assert list_locations(snapshot, "join:10:old")[0].uri == "file:///catalog/data/lake/Converted_GL/2026-01.parquet"


# Locations that somebody else serves


def test_locations_served_take_the_place_of_the_resolvers() -> None:
    asked: list[tuple[str, int, list[str | None]]] = []

    def locate(request: LocationRequest, found: tuple[Location, ...]) -> tuple[Location, ...]:
        asked.append((request.use.key, request.dataset_version, [location.period for location in found]))
        return (Location(kind="memory", columns=("a",), rows=(("1",),), period=request.period.identifier),)

    snapshot = resolve(write_project(), locate=locate)
    assert asked == [("input", 3, ["2026-01"]), ("join:10:fx", 2, ["2026-01"])]
    assert {found.kind for found in list_locations(snapshot)} == {"memory"}
    assert snapshot.resolver_snapshot.resolver_source == "system_default"
    consumer = resolve(write_project(), write_consumer(pin=2), locate=locate, project="consumer")
    assert consumer.resolver_snapshot.join_datasets[0].dataset_version == 2


def test_locations_served_still_follow_the_rules_of_the_catalog() -> None:
    rule = "{name: never, when: \"period.level = 'day'\", strategy: {type: path, datasource_id: lake, path: a}}"
    problems = list_problems(write_resolver(rule), write_project(OUTPUT), locate=lambda _, found: found)
    assert [problem.code for problem in problems] == ["RESOLVE_003"]


def test_catalog_that_was_loaded_can_be_resolved_without_its_problems() -> None:
    loaded = load(RESOLVER, write_project())
    assert build_snapshot(loaded, "p1", "2026-01", OPTIONS).sha256 == resolve(RESOLVER, write_project()).sha256
    with pytest.raises(RuntimeProviderError):
        build_snapshot(loaded, "p1", "2026-01", replace(OPTIONS, version=9))


@pytest.mark.parametrize("holder", ["2026", "2026-Q1"])
def test_month_of_a_locked_year_or_quarter_is_locked(holder: str) -> None:
    registry = MemoryRegistry()
    registry.set_period_status("gregorian", holder, "closed", who="ann", reason="done")
    (problem,) = list_problems(RESOLVER, write_project(), registry=registry)
    assert (problem.code, problem.message) == (
        "PERIOD_002",
        f"period 2026-01 is part of {holder}, which is closed by ann: done",
    )
    allowed = resolve(RESOLVER, write_project(), registry=registry, options=replace(OPTIONS, allow_closed=True))
    assert allowed.plan.settings.enclosing_periods == ("2026-Q1", "2026")
    registry.set_period_status("gregorian", holder, "locked", who="ann", reason="audited")
    problems = list_problems(RESOLVER, write_project(), registry=registry, options=replace(OPTIONS, allow_closed=True))
    assert [problem.message for problem in problems] == [
        f"period 2026-01 is part of {holder}, which is locked by ann: audited"
    ]
    resolve(RESOLVER, write_project(), registry=registry, period="2027-01")


def test_override_of_a_dataset_that_does_not_exist_is_refused_with_the_nearest_name() -> None:
    (problem,) = list_problems(RESOLVER, write_project(resolver_overrides="{FX rate: lake-resolver}"))
    assert (problem.code, problem.location.field) == ("CATALOG_004", "resolver_overrides.FX rate")
    assert "unknown dataset 'FX rate'" in problem.message
    assert problem.hint == "did you mean 'FX rates'?"


def test_mistakes_of_the_project_that_registers_the_input_are_reported() -> None:
    broken = write_project(CONVERT.replace("fx.rate", "fx.rat") + OUTPUT)
    reader = write_project(OUTPUT.replace(", register_as_dataset: Converted GL", ""), id="p3", name="reader")
    reader = reader.replace("input_dataset_id: gl", "input_dataset_id: Converted GL")
    problems = list_problems(RESOLVER, broken, reader, project="reader")
    assert [(problem.code, problem.location.project) for problem in problems] == [("JOIN_008", "conversion")]


def test_store_with_a_password_in_its_address_is_refused_without_showing_it() -> None:
    (problem,) = list_problems(
        RESOLVER, write_project(), options=replace(OPTIONS, slice_store="s3a://me:hunter2@bucket/slices")
    )
    assert problem.code == "CATALOG_002"
    assert "hunter2" not in str(problem)
