"""Resolvers: precedence, rules, expansion, templates, places."""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import date

import pytest

from airflow_provider_runtime.core.calendar.periods import make_period_index
from airflow_provider_runtime.core.catalog.templates import make_token_values, render_template
from airflow_provider_runtime.core.errors import ResolveError
from airflow_provider_runtime.core.model.period import GREGORIAN
from airflow_provider_runtime.core.planning.resolve.locations import check_relative_path
from airflow_provider_runtime.core.planning.resolve.resolver_class import Location, ResolveRequest
from tests.unit.core.planning.resolve_builder import (
    CONVERT,
    MONTHLY,
    OPTIONS,
    OUTPUT,
    list_locations,
    list_problems,
    resolve,
    write_project,
    write_resolver,
)

APPEND = """
    - seq: 20
      name: add
      type: append
      arguments: {source: {dataset_id: gl, dataset_version: 1}}
"""


def write_rule(name: str, when: str) -> str:
    return f'{{name: {name}, when: "{when}", strategy: {{type: path, datasource_id: lake, path: {name}}}}}'


def test_all_template_tokens_are_replaced() -> None:
    period = make_period_index(GREGORIAN).get_period("2026-Q2")
    values = make_token_values("gl", 3, "transactions", period)
    text = "{{table_name}}/{{ dataset_id }}/{{dataset_version}}/{{identifier}}/"
    text += "{{YYYY}}{{MM}}{{DD}}{{QQ}}/{{start_date}}_{{end_date}}"
    assert render_template(text, values) == "transactions/gl/3/2026-Q2/20260401Q2/2026-04-01_2026-06-30"


def test_unknown_template_token_names_the_nearest() -> None:
    with pytest.raises(ResolveError) as caught:
        render_template("{{yyyy}}/{{nonsense}}", {})
    assert [problem.code for problem in caught.value.problems] == ["RESOLVE_004", "RESOLVE_004"]
    assert caught.value.problems[0].hint == "did you mean 'YYYY'?"


def test_precedence_override_beats_dataset_beats_default() -> None:
    table = "{name: t, columns: [{name: code, type: string}]}"
    own = f"dataset: {{id: own, name: Own, version: 1, resolver_id: special, main_table: {table}}}"
    special = write_resolver(MONTHLY, identifier="special", is_default="false")
    test = write_resolver(MONTHLY, identifier="test", version="4", is_default="false")
    joins = CONVERT.replace("joins: [", "joins: [{alias: own, dataset_id: own, on: 'currency = own.code'}, ")
    documents = (write_resolver(MONTHLY), own, special, test)
    chosen = resolve(*documents, write_project(joins, resolver_overrides="{FX rates: test}")).resolver_snapshot
    assert (chosen.resolver_id, chosen.resolver_source) == ("lake-resolver", "system_default")
    joined = [(j.alias, j.resolver_id, j.resolver_version, j.resolver_source) for j in chosen.join_datasets]
    assert joined == [("own", "special", 1, "dataset_resolver"), ("fx", "test", 4, "project_override")]
    snapshot = resolve(*documents, write_project(joins, resolver_overrides="{own: test}"))
    assert snapshot.resolver_snapshot.join_datasets[0].resolver_source == "project_override"


def test_missing_resolver_says_where_it_was_looked_for() -> None:
    problem = list_problems(write_project(OUTPUT))[0]
    assert problem.code == "RESOLVE_001"
    assert "no override in the project, no resolver_id, no default resolver" in problem.message


def test_resolver_disabled_is_refused() -> None:
    problem = list_problems(write_resolver(MONTHLY, status="disabled"), write_project(OUTPUT))[0]
    assert problem.code == "RESOLVE_002"


def test_rules_in_order_first_match_wins_and_trace_says_why() -> None:
    rules = (
        write_rule("new", "period.start_date >= DATE('2027-01-01')"),
        write_rule("rates", "table.name = 'rates' AND dataset.version = 2"),
        MONTHLY,
    )
    snapshot = resolve(write_resolver(*rules), write_project())
    assert list_locations(snapshot)[0].uri == "file:///catalog/data/lake/transactions/2026-01.parquet"
    assert list_locations(snapshot, "join:10:fx")[0].uri == "file:///catalog/data/lake/rates"
    trace = snapshot.plan.settings.trace["join:10:fx"].rules
    assert [rule.matched for rule in trace] == [False, True]
    assert "is FALSE (period.start_date is '2026-01-01')" in trace[0].reason


def test_no_matching_rule_lists_each_rule_with_its_reason() -> None:
    rules = (
        write_rule("yearly", "period.level = 'year'"),
        write_rule("others", "table.name <> 'transactions'"),
    )
    problems = list_problems(write_resolver(*rules), write_project(OUTPUT))
    assert [problem.code for problem in problems] == ["RESOLVE_003"]
    assert "rule 'yearly': `period.level = 'year'` is FALSE (period.level is 'month')" in problems[0].message
    assert "rule 'others'" in problems[0].message
    assert problems[0].location.project == "conversion"


def test_append_source_without_rule_is_append_007() -> None:
    rule = "{name: new, when: 'dataset.version = 3', strategy: {type: path, datasource_id: lake, path: y}}"
    problems = list_problems(write_resolver(rule), write_project(APPEND + OUTPUT))
    assert [problem.code for problem in problems] == ["APPEND_007"]
    assert problems[0].message.startswith("RESOLVE_003: ")
    assert problems[0].location.operation_seq == 20


def test_data_level_finer_gives_every_child_period() -> None:
    rule = MONTHLY.replace("name: monthly", "name: monthly, data_level: month, on_missing: empty")
    snapshot = resolve(write_resolver(rule), write_project(OUTPUT, level="quarter"), period="2026-Q1")
    found = [(location.uri[-15:], location.period, location.on_missing) for location in list_locations(snapshot)]
    assert found == [(f"2026-0{month}.parquet", f"2026-0{month}", "empty") for month in (1, 2, 3)]
    assert snapshot.plan.settings.trace["input"].periods == ("2026-01", "2026-02", "2026-03")


SHIFTED = """
dataset:
  id: opening
  name: Opening
  version: 1
  period_shift: -1MISSING
  main_table:
    name: transactions
    temporal_mode: period
    columns:
      - {name: journal_id, type: string}
      - {name: currency, type: string}
      - {name: amount, type: decimal, precision: 18, scale: 2}
---
dataset:
  id: opening-rates
  name: Opening rates
  version: 1
  period_shift: -2MISSING
  main_table:
    name: rates
    temporal_mode: bitemporal
    columns: [{name: code, type: string}, {name: rate, type: decimal}]
"""
SHIFTED_OPERATIONS = """
    - seq: 10
      name: rates
      type: update
      arguments:
        joins: [{alias: fx, dataset_id: opening-rates, on: 'currency = fx.code'}]
        assignments: [{column: converted, expression: 'amount * fx.rate'}]
    - {seq: 20, name: add, type: append, arguments: {source: {dataset_id: opening}}}
"""
WEEKS = """
calendar:
  id: weeks
  levels: [{name: week}]
  periods:
    - {identifier: W1, level: week, start_date: 2026-01-05, end_date: 2026-01-11}
    - {identifier: W2, level: week, start_date: 2026-01-12, end_date: 2026-01-18}
"""


def test_period_shift_reads_the_tables_for_an_earlier_period() -> None:
    snapshot = resolve(
        write_resolver(MONTHLY), SHIFTED.replace("MISSING", ""), write_project(SHIFTED_OPERATIONS + OUTPUT)
    )
    opening = list_locations(snapshot, "append:20")[0]
    assert (opening.uri[-15:], opening.period) == ("2025-12.parquet", "2025-12")
    rates = list_locations(snapshot, "join:10:fx")[0]
    assert (rates.uri[-15:], rates.period) == ("2025-11.parquet", "2025-11")
    assert snapshot.plan.tables["join:10:fx"].as_of == date(2025, 11, 1)
    assert list_locations(snapshot)[0].period == "2026-01"
    assert snapshot.plan.tables["input"].as_of is None


@pytest.mark.parametrize(("missing", "codes"), [("", ["DATA_001"]), ("\n  on_missing: empty", [])])
def test_period_shift_before_the_calendars_first_period(missing: str, codes: list[str]) -> None:
    rule = MONTHLY.replace("{{YYYY}}-{{MM}}", "{{identifier}}")
    documents = (
        write_resolver(rule),
        WEEKS,
        SHIFTED.replace("MISSING", missing),
        write_project(SHIFTED_OPERATIONS + OUTPUT, calendar="weeks", level="week"),
    )
    if not codes:
        assert list_locations(resolve(*documents, period="W2"), "join:10:fx") == []
        return
    problems = list_problems(*documents, period="W2")
    assert [problem.code for problem in problems] == codes
    assert "'Opening rates' is read 2 before W2" in problems[0].message
    assert "on_missing: empty" in (problems[0].hint or "")


def test_all_finer_periods_can_be_required() -> None:
    rule = MONTHLY.replace(
        "name: monthly", "name: monthly, data_level: month, on_missing: empty, requires_all_periods: true"
    )
    project = write_project(OUTPUT, level="quarter")
    found = list_locations(resolve(write_resolver(rule), project, period="2026-Q1"))
    assert [(location.period, location.on_missing) for location in found] == [
        (f"2026-0{month}", "error") for month in (1, 2, 3)
    ]


def test_data_level_finer_of_an_unfiltered_table_reads_a_place_once() -> None:
    rule = '{name: all, data_level: day, strategy: {type: path, datasource_id: lake, path: "{{table_name}}"}}'
    snapshot = resolve(write_resolver(rule), write_project())
    assert len(list_locations(snapshot, "join:10:fx")) == 1
    assert len(list_locations(snapshot)) == 31


def test_data_level_coarser_gives_the_parents_place() -> None:
    strategy = '{type: path, datasource_id: lake, path: "{{table_name}}/{{identifier}}"}'
    rule = f"{{name: y, data_level: year, strategy: {strategy}}}"
    location = list_locations(resolve(write_resolver(rule), write_project(OUTPUT)))[0]
    assert (location.uri, location.period) == ("file:///catalog/data/lake/transactions/2026", "2026")


def test_data_level_any_gives_one_place() -> None:
    rule = '{name: a, data_level: any, strategy: {type: path, datasource_id: lake, path: "all/{{table_name}}"}}'
    locations = list_locations(resolve(write_resolver(rule), write_project(OUTPUT, level="year"), period="2026"))
    assert [(found.uri[-16:], found.period) for found in locations] == [("all/transactions", "2026")]


def test_table_strategy_names_schema_options_and_credential_but_no_secret() -> None:
    rule = '{name: t, strategy: {type: table, datasource_id: dwh, table: "{{table_name}}_{{YYYY}}"}}'
    location = list_locations(resolve(write_resolver(rule), write_project(OUTPUT)))[0]
    assert (location.kind, location.table) == ("jdbc", "finance.transactions_2026")
    assert location.options == {"url": "jdbc:postgresql://db/dwh"}
    assert location.credential_ref == "airflow://dwh"
    rule = rule.replace("table: ", 'schema: "s{{MM}}", table: ')
    assert list_locations(resolve(write_resolver(rule), write_project(OUTPUT)))[0].table == "s01.transactions_2026"


def test_options_and_types_of_a_datasource_are_known_in_any_case() -> None:
    rule = "{name: t, strategy: {type: table, datasource_id: other, table: gl}}"
    other = "datasource: {id: other, type: JDBC, options: {Url: 'jdbc:postgresql://db/dwh', Schema: books}}\n"
    location = list_locations(resolve(write_resolver(rule), write_project(OUTPUT), other))[0]
    assert (location.kind, location.format, location.table) == ("jdbc", "jdbc", "books.gl")
    assert location.options == {"Url": "jdbc:postgresql://db/dwh"}


@pytest.mark.parametrize("table", ["(select 1) t", "a; drop table b", 'a"b', "a`b", "a b\nc"])
def test_table_strategy_with_more_than_a_name_is_refused(table: str) -> None:
    quoted = table.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    rule = f'{{name: t, strategy: {{type: table, datasource_id: dwh, table: "{quoted}"}}}}'
    problems = list_problems(write_resolver(rule), write_project(OUTPUT))
    assert {problem.code for problem in problems} == {"CATALOG_002"}
    assert "\n" not in problems[0].message


@pytest.mark.parametrize(
    "path",
    [
        "../x", "a/../../x", "/etc/passwd", "s3a://other/x", "a\\..\\x", "{a,../x}", "a\nb", "", ".", "~", "a/..",
        ".{./x,/y}", ".{.,x}/s", "{.,a}./s", "a/{.}{.}/s", ".{./.{./s,/b},/c}", "{a,b}/{..,c}",
    ],
)  # fmt: skip
def test_path_that_leaves_the_prefix_is_refused(path: str) -> None:
    assert check_relative_path(path) is not None


@pytest.mark.parametrize("path", ["a", "a/b.parquet", "a..b/c", "a b/ü", ".a", "x=1/y", "a:b", "{a,b.c}/d", "./a"])
def test_path_below_the_prefix_is_accepted(path: str) -> None:
    assert check_relative_path(path) is None


def test_path_strategy_out_of_its_prefix_points_at_the_resolver() -> None:
    rule = "{name: p, strategy: {type: path, datasource_id: lake, path: '{{{table_name}},../x}'}}".replace(
        "{{{", "{{ {"
    )
    rule = "{name: p, strategy: {type: path, datasource_id: lake, path: '{a,../x}'}}"
    problems = list_problems(write_resolver(rule), write_project(OUTPUT))
    assert [(p.code, p.location.file, p.location.line) for p in problems] == [("CATALOG_002", "2.yaml", 6)]


def test_datasource_disabled_is_catalog_004() -> None:
    rule = "{name: p, strategy: {type: path, datasource_id: closed, path: a}}"
    problem = list_problems(write_resolver(rule), write_project(OUTPUT))[0]
    assert (problem.code, problem.message) == ("CATALOG_004", "datasource 'closed' is disabled")


def test_credential_of_airflow_in_cluster_mode_is_refused() -> None:
    rule = '{name: t, strategy: {type: table, datasource_id: dwh, table: "{{table_name}}"}}'
    options = replace(OPTIONS, deploy_mode="cluster")
    problem = list_problems(write_resolver(rule), write_project(OUTPUT), options=options)[0]
    assert (problem.code, problem.location.file) == ("CATALOG_004", "3.yaml")


class EchoResolver:
    """Answers with one place for a day, one for the month, and with that twice."""

    def resolve(self, request: ResolveRequest) -> list[Location]:
        name = f"{request.dataset_id}-{request.dataset_version}-{request.table}"
        return [
            Location(datasource_id="lake", path=name, period="2026-01-31"),
            *[Location(uri="s3a://bucket/x", type="orc", options={"mergeSchema": "true"})] * 2,
        ]


class EscapingResolver:
    """Answers with a place outside of the datasource."""

    def resolve(self, request: ResolveRequest) -> list[Location]:
        return [Location(datasource_id="lake", path=f"../{request.table}")]


class FailingResolver:
    """Fails."""

    def resolve(self, request: ResolveRequest) -> list[Location]:
        raise KeyError(request.table)


class WrongResolver:
    """Answers with what the test wants."""

    answer: object = None

    def resolve(self, request: ResolveRequest) -> object:
        print("looking for", request.table)
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


class LeavingResolver:
    """Ends the process while it is made."""

    def __init__(self) -> None:
        sys.exit(3)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ([], "knows no location of table 'transactions' for period 2026-01"),
        ((), "knows no location"),
        (None, "did not return a list of Location"),
        ([Location(datasource_id=5, path=None)], "datasource_id is not a text"),  # type: ignore[arg-type]
        ([Location(datasource_id="lake", path=["a"])], "path is not a text"),  # type: ignore[arg-type]
        ([Location(datasource_id="lake", path="a", period=202601)], "period is not a text"),  # type: ignore[arg-type]
        ([Location(datasource_id="lake", path="a", options=None)], "options is not a mapping"),  # type: ignore[arg-type]
        ([Location(datasource_id="lake", path="a", options={"x": True})], "x is not a text"),  # type: ignore[dict-item]
        ([Location(datasource_id="lake", path="a", table="b")], "a path and a table"),
        ([Location(datasource_id="lake", path="a", uri="s3a://b/a", type="orc")], "a datasource_id and a uri"),
        ([Location(datasource_id="lake", path="a\ud800")], "path holds half a surrogate pair"),
        ([Location(datasource_id="lake", path="a", options={"sep\ud800": ","})], "sep? holds half a surrogate pair"),
        (SystemExit(3), "raised SystemExit: 3"),
        (ValueError("\ud800"), "raised ValueError: ?"),
    ],
)
def test_class_resolver_with_a_wrong_answer_is_resolve_003_with_a_reason(
    answer: object, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(WrongResolver, "answer", answer)
    problems = list_problems(write_resolver(**{"class": f"{__name__}.WrongResolver"}), write_project(OUTPUT))
    assert [(problem.code, problem.location.file) for problem in problems] == [("RESOLVE_003", "2.yaml")]
    assert words in problems[0].message
    assert problems[0].message.encode()
    assert capsys.readouterr() == ("", "looking for transactions\n")


def test_class_resolver_is_asked_and_its_places_are_checked() -> None:
    resolver = write_resolver(**{"class": f"{__name__}.EchoResolver"})
    locations = list_locations(resolve(resolver, write_project(OUTPUT)))
    assert [(found.uri, found.period, found.format) for found in locations] == [
        ("file:///catalog/data/lake/gl-3-transactions", "2026-01-31", "parquet"),
        ("s3a://bucket/x", "2026-01", "orc"),
    ]


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        (f"{__name__}.EscapingResolver", "CATALOG_002", "leads out"),
        (f"{__name__}.FailingResolver", "RESOLVE_003", "raised KeyError"),
        (f"{__name__}.Missing", "RESOLVE_001", "cannot be loaded"),
        (f"{__name__}.LeavingResolver", "RESOLVE_001", "cannot be loaded: SystemExit: 3"),
        ("no.such.module.Class", "RESOLVE_001", "cannot be loaded"),
    ],
)
def test_class_resolver_that_fails_is_a_problem_at_its_line(name: str, code: str, words: str) -> None:
    problems = list_problems(write_resolver(**{"class": name}), write_project(OUTPUT))
    assert [(problem.code, problem.location.file, problem.location.line) for problem in problems] == [
        (code, "2.yaml", 5)
    ]
    assert words in problems[0].message
