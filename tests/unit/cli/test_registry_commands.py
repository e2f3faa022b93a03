from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from airflow_provider_runtime.cli.datasets import command as datasets
from airflow_provider_runtime.cli.periods import command as periods
from airflow_provider_runtime.cli.runs import command as runs
from airflow_provider_runtime.core.errors import DefinitionError, PeriodError
from airflow_provider_runtime.core.registry.sql import open_registry
from tests.unit.core.registry.registry_cases import ELSEWHERE, make_start, make_write


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/registry.db"


def test_periods_closed_with_a_reason_shows_who_when_and_why(url: str) -> None:
    arguments = ["--registry", url, "--close", "2026-01", "--reason", "books [done]", "--format", "json"]
    result = CliRunner().invoke(periods, arguments)
    (period,) = json.loads(result.stdout)
    assert (period["period"], period["status"], period["why"]) == ("2026-01", "closed", "books [done]")
    assert period["who"]
    assert period["when"]
    assert "books [done]" in CliRunner().invoke(periods, ["--registry", url]).stdout


def test_no_registry_is_made_for_a_period_that_does_not_exist(url: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(periods, ["--registry", url, "--close", "2026-13", "--reason", "x"])
    assert isinstance(result.exception, PeriodError)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [["--lock", "2026-01"], ["--lock", "2026-01", "--close", "2026-02"]])
def test_periods_wrong_use_has_exit_status_2(url: str, arguments: list[str]) -> None:
    assert CliRunner().invoke(periods, ["--registry", url, *arguments]).exit_code == 2


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("foo", "not an SQLAlchemy URL"),
        ("garbage url secretX", "not an SQLAlchemy URL"),
        ("", "not an SQLAlchemy URL"),
        ("jdbc:postgresql://u:secretX@h/d", "not an SQLAlchemy URL"),
        ("sqlite://", "names no file"),
        ("sqlite:///", "names no file"),
        ("sqlite:///:memory:", "names no file"),
        ("sqlite+pysqlite:///:memory:", "names no file"),
        ("sqlite://secretX/a.db", "names a host"),
        ("sqlite:///a?b=secretX", "takes no options"),
        ("sqlite:///secretX%00y", "null character"),
        ("postgresql://u:p@secretX@h.invalid/db", "write those of a password as %40"),
        ("postgresql://u:p?x@secretX@h.invalid/db", "write those of a password as %40"),
    ],
)
def test_what_is_not_an_address_of_a_registry_is_refused_and_never_becomes_a_file(
    wrong: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DefinitionError, match=words) as caught:
        open_registry(wrong)
    result = CliRunner().invoke(periods, ["--registry", wrong])
    assert result.exit_code == 2
    assert words in result.output
    assert "secretX" not in result.output + str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "wrong", ["sqlite+aiosqlite:///a.db", "postgresql+psycopg_async://h/d", "postgresql+asyncpg://h"]
)
def test_registry_through_an_asynchronous_driver_is_refused(wrong: str) -> None:
    with pytest.raises(DefinitionError, match="asynchronous") as caught:
        open_registry(wrong)
    assert caught.value.code == "CATALOG_002"


def test_periods_reopen_of_a_locked_one_is_refused(url: str) -> None:
    CliRunner().invoke(periods, ["--registry", url, "--lock", "2026-01", "--reason", "audited"])
    result = CliRunner().invoke(periods, ["--registry", url, "--reopen", "2026-01", "--reason", "oops"])
    assert isinstance(result.exception, PeriodError)


def change(url: str, *arguments: str) -> PeriodError | None:
    """Change a period's status, and return why not."""
    result = CliRunner().invoke(periods, ["--registry", url, *arguments, "--reason", "why"])
    assert result.exit_code in (0, 1)
    return result.exception if isinstance(result.exception, PeriodError) else None


def test_periods_reopen_of_one_in_a_closed_quarter_names_the_quarter_and_then_works(url: str) -> None:
    for period in ("2026-01", "2026-Q1"):
        assert change(url, "--close", period) is None
    refused = change(url, "--reopen", "2026-01")
    assert refused is not None
    assert refused.code == "PERIOD_002"
    assert "2026-01 is part of 2026-Q1, which is closed" in str(refused)
    assert refused.problems[0].hint == (
        "first reopen 2026-Q1 with `airflow-runtime periods --reopen 2026-Q1 --reason TEXT`"
        " (and --registry, if you gave one here)"
    )
    assert [change(url, "--reopen", period) for period in ("2026-Q1", "2026-01")] == [None, None]
    assert change(url, "--lock", "2026") is None
    refused = change(url, "--reopen", "2026-01")
    assert refused is not None
    assert refused.problems[0].hint == "a locked period never changes again"


def test_periods_show_the_status_that_holds_and_whose_it_is(url: str) -> None:
    for arguments in (["--close", "2026-01"], ["--reopen", "2026-01"], ["--close", "2026-Q1"]):
        assert change(url, *arguments) is None
    result = CliRunner().invoke(periods, ["--registry", url, "--format", "json"])
    found = {entry["period"]: entry for entry in json.loads(result.stdout)}
    month = found["2026-01"]
    assert (month["status"], month["own_status"], month["status_of"]) == ("closed", "open", "2026-Q1")
    assert [entry["status"] for entry in month["history"]] == ["closed", "open"]
    assert (found["2026-Q1"]["status"], found["2026-Q1"]["status_of"]) == ("closed", "2026-Q1")
    shown = CliRunner().invoke(periods, ["--registry", url]).stdout
    assert [line.split()[1:3] for line in shown.splitlines() if line.startswith("2026-01")] == [["closed", "2026-Q1"]]


def test_periods_reopen_of_one_closed_in_the_calendars_file_says_so(url: str, tmp_path: Path) -> None:
    (tmp_path / "calendar.yaml").write_text("""
calendar:
  id: fiscal
  levels: [{name: year}, {name: period, parent_level: year}]
  periods:
    - {identifier: Y1, level: year, start_date: 2026-01-01, end_date: 2026-02-28}
    - {identifier: P1, level: period, parent: Y1, start_date: 2026-01-01, end_date: 2026-01-31, status: closed}
    - {identifier: P2, level: period, parent: Y1, start_date: 2026-02-01, end_date: 2026-02-28}
""")
    calendar = ["--catalog", str(tmp_path), "--calendar", "fiscal"]
    refused = change(url, *calendar, "--reopen", "P1")
    assert refused is not None
    assert "period P1 is closed in the calendar's file" in str(refused)
    assert refused.problems[0].hint == "first set the status of P1 in the file of calendar 'fiscal'"
    assert change(url, *calendar, "--close", "Y1") is None
    refused = change(url, *calendar, "--reopen", "P2")
    assert refused is not None
    assert "first reopen Y1 with `airflow-runtime periods --calendar fiscal --reopen Y1 " in str(
        refused.problems[0].hint
    )
    result = CliRunner().invoke(periods, ["--registry", url, *calendar, "--format", "json"])
    found = [(entry["period"], entry["status"], entry["status_of"]) for entry in json.loads(result.stdout)]
    assert found == [("Y1", "closed", "Y1"), ("P1", "closed", "P1"), ("P2", "closed", "Y1")]


def test_runs_and_datasets_list_what_was_published(url: str) -> None:
    registry = open_registry(url)
    attempt = registry.begin_attempt(make_start("a"), holder=ELSEWHERE)
    registry.finish_attempt(attempt, [make_write()], {"rows_in": 5})
    (run,) = json.loads(CliRunner().invoke(runs, ["--registry", url, "--format", "json"]).stdout)
    assert (run["status"], run["rows_in"], run["run_id"]) == ("succeeded", 5, "run-a")
    (dataset,) = json.loads(CliRunner().invoke(datasets, ["--registry", url, "--format", "json"]).stdout)
    assert (dataset["name"], dataset["latest_version"], dataset["slices"][0]["rows"]) == ("DS", 1, 3)
    assert "fx v1" in CliRunner().invoke(runs, ["--registry", url]).stdout
    assert "DS" in CliRunner().invoke(datasets, ["--registry", url]).stdout


def test_runs_of_a_period_show_its_publications_with_their_totals(url: str) -> None:
    registry = open_registry(url)
    total = {"name": "total usd", "output": 20, "kind": "value", "status": "recorded", "value": "12.50", "groups": []}
    column = {"name": "usd", "changed": 1, "total_before": "12.50", "total_after": "13.00", "difference": "0.50"}
    for digest, value, comparison in (
        ("a", "12.50", None),
        ("b", "13.00", {"outputs": [{"seq": 20, "columns": [column]}]}),
    ):
        attempt = registry.begin_attempt(make_start(digest), holder=ELSEWHERE)
        outputs = [{"seq": 20, "destination": "out/close", "rows": 3}]
        report = {"outputs": outputs, "checks": [{**total, "value": value}], "comparison": comparison}
        registry.finish_attempt(attempt, [], report)
    arguments = ["--registry", url, "--project", "p", "--period", "2026-01"]
    told = CliRunner().invoke(runs, arguments).stdout.partition("publications, the latest first")[2]
    assert "3 to out/close" in told
    assert told.index("total usd 13.00, usd 13.00") < told.index("total usd 12.50")
    latest, first = json.loads(CliRunner().invoke(runs, [*arguments, "--format", "json"]).stdout)
    assert [found["number"] for run in (first, latest) for found in run["publications"]] == [1, 2]
    assert first["publications"][0]["outputs"] == [{"seq": 20, "destination": "out/close", "rows": 3}]
    assert first["publications"][0]["totals"] == [{"output": 20, "name": "total usd", "value": "12.50"}]


def test_periods_show_all_changes_with_who_when_and_why(url: str) -> None:
    assert change(url, "--close", "2026-01") is None
    assert "all changes" not in CliRunner().invoke(periods, ["--registry", url]).stdout
    assert change(url, "--reopen", "2026-01") is None
    told = CliRunner().invoke(periods, ["--registry", url]).stdout.partition("all changes:\n")[2].splitlines()
    assert told[0].split("  ")[0] == "when (UTC)"
    assert [line.split()[2:5] for line in told[1:]] == [["2026-01", "open", "closed"], ["2026-01", "closed", "open"]]
