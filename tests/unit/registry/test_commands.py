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
from tests.unit.registry.registry_cases import ELSEWHERE, make_start, make_write


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
    ],
)
def test_what_is_no_address_of_a_registry_is_refused_and_never_becomes_a_file(
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


def test_periods_reopen_of_a_locked_one_is_refused(url: str) -> None:
    CliRunner().invoke(periods, ["--registry", url, "--lock", "2026-01", "--reason", "audited"])
    result = CliRunner().invoke(periods, ["--registry", url, "--reopen", "2026-01", "--reason", "oops"])
    assert isinstance(result.exception, PeriodError)


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
