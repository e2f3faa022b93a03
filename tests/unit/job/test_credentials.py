from __future__ import annotations

import json

import pytest

from spark_jobs import redaction
from spark_jobs.credentials import credential_variable, read_credentials
from spark_jobs.errors import JobError, shorten
from spark_jobs.redaction import redact
from spark_jobs.report import ErrorReport, OperationReport, Report


@pytest.fixture(autouse=True)
def _forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Secrets of these tests are none of other tests."""
    monkeypatch.setattr(redaction, "_known", set())


def test_variable_that_holds_a_plain_password_is_one() -> None:
    found = read_credentials("env://WAREHOUSE", {"WAREHOUSE": "s3cret-plain"})
    assert (found.user, found.password) == (None, "s3cret-plain")


def test_variable_that_holds_json_gives_user_password_and_options() -> None:
    text = '{"login": "me", "password": "s3cret-json", "sslmode": "require", "port": 5432, "x": null}'
    found = read_credentials("env://WAREHOUSE", {"WAREHOUSE": text})
    assert (found.user, found.password) == ("me", "s3cret-json")
    assert found.options == {"sslmode": "require", "port": "5432"}


def test_airflow_connection_is_read_from_the_variable_made_for_it() -> None:
    name = credential_variable("airflow://warehouse")
    assert name.startswith("RUNTIME_CREDENTIAL_")
    assert read_credentials("airflow://warehouse", {name: '{"password": "from-airflow"}'}).password == "from-airflow"


def test_airflow_connection_has_the_same_variable_on_both_sides() -> None:
    hooks = pytest.importorskip("airflow_provider_runtime.hooks.credentials")
    names = [name for name in vars(hooks) if "variable" in name.lower() and callable(vars(hooks)[name])]
    assert [vars(hooks)[name]("airflow://warehouse") for name in names] == [credential_variable("airflow://warehouse")]


@pytest.mark.parametrize("text", [None, '{"password": '])
def test_credential_that_cannot_be_read_is_refused_without_showing_it(text: str | None) -> None:
    with pytest.raises(JobError) as refused:
        read_credentials("env://WAREHOUSE", {} if text is None else {"WAREHOUSE": text})
    assert refused.value.code == "CATALOG_004"
    assert "password" not in refused.value.message


def test_secret_is_redacted_in_every_spelling() -> None:
    read_credentials("env://W", {"W": '{"user": "me", "password": "p@ss w/rd\\"4711"}'})
    for shown in ('p@ss w/rd"4711', "p%40ss%20w%2Frd%224711", "p%40ss+w%2Frd%224711", 'p@ss w/rd\\"4711'):
        assert redact(f"jdbc:x?password={shown}&a=1") == "jdbc:x?password=***&a=1"


def test_secret_with_quotes_and_umlauts_is_redacted_as_json_spells_it() -> None:
    secret = 'pä"ß\\ 漢\n4711'
    read_credentials("env://W", {"W": json.dumps({"password": secret})})
    for shown in (json.dumps(secret), json.dumps(secret, ensure_ascii=False), repr(secret)):
        assert "4711" not in redact(f"it said {shown}")
    assert "4711" not in shorten(f"it said {secret}")


def test_secret_at_the_end_of_a_text_that_is_cut_shows_no_part_of_itself() -> None:
    read_credentials("env://W", {"W": "canary-in-the-cold-mine-4711"})
    assert "canary" not in shorten("x" * 190 + "canary-in-the-cold-mine-4711")


@pytest.mark.parametrize("secret", ["1000", "succeeded", "attempt", "status"])
def test_secret_that_looks_like_a_part_of_the_report_leaves_it_readable(secret: str) -> None:
    read_credentials("env://W", {"W": secret})
    operation = OperationReport(10, "update", "op", 1000, 1000, 0.1)
    report = Report("a" * 64, 1, "succeeded", operations=(operation,), error=ErrorReport("X", f"said {secret}"))
    found = report.to_dict()
    assert (found["status"], found["attempt"], found["operations"][0]["rows_after"]) == ("succeeded", 1, 1000)
    assert found["error"]["message"] == "said ***"
