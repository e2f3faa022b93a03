from __future__ import annotations

import base64
import json

import pytest

from spark_jobs import redaction
from spark_jobs.contract.report import OperationReport, Report
from spark_jobs.credentials import credential_variable, read_credentials
from spark_jobs.errors import JobError, shorten
from spark_jobs.redaction import redact
from spark_jobs.report import make_error_reports


@pytest.fixture(autouse=True)
def _forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the secrets of these tests out of others."""
    monkeypatch.setattr(redaction, "_known", set())


def test_variable_may_hold_a_plain_password() -> None:
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


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('{"password": "p12345", "extra": {"k": "CANARY"}}', "CANARY"),
        ('{"password": "p12345", "extra": [{"host": [["CANARY"]]}, 12345678]}', "12345678"),
        ('{"extra": [{"k": [["CANARY"]]}]}', "CANARY"),
        ('{"url": "jdbc:postgresql://h/d?user=u&password=CANARY"}', "CANARY"),
        ('{"url": "jdbc:sqlserver://h;user=u;Password=CANARY;x=y"}', "CANARY"),
        ('{"url": "jdbc:mysql://u:CAN%40ARY@h:3306/d"}', "CAN@ARY"),
        ('{"url": "jdbc:mysql://u:CAN%40ARY@h:3306/d"}', "CAN%40ARY"),
        ('{"url": "jdbc:oracle:thin:scott/CANARY@h:1521"}', "CANARY"),
        (" CANARY\n", "CANARY"),
        ("-----BEGIN KEY-----\r\nCANARY7AAAA\r\nBBBB1234\n-----END KEY-----", "CANARY7AAAA"),
        ("-----BEGIN KEY-----\r\nCANARY7AAAA\r\nBBBB1234\n-----END KEY-----", "BBBB1234"),
        ('{"user": "u", "password": "CANARY9aa"}', base64.b64encode(b"u:CANARY9aa").decode()),
        ('{"login": "ü", "password": "CANARY??>"}', base64.urlsafe_b64encode("ü:CANARY??>".encode()).decode()),
    ],
)
def test_every_shape_of_a_secret_is_redacted(text: str, shown: str) -> None:
    read_credentials("env://W", {"W": text})
    assert shown not in redact(f"it said {shown} of it")


def test_what_is_not_a_secret_of_a_credential_is_shown() -> None:
    text = '{"user": "somebody", "password": "p12345", "url": "jdbc:x://warehouse:5432/d?sslmode=require", "ssl": true}'
    read_credentials("env://W", {"W": text})
    told = "somebody at warehouse:5432, require, True, jdbc:x://warehouse:5432/d?sslmode=require"
    assert redact(told) == told


@pytest.mark.parametrize(
    "text",
    [
        "pa\udcdfCANARY",
        '{"user": "u", "password": "CANARY\\ud800"}',
        '{"x": [{"CANARY\\ud800": 1}]}',
        '{"CANARY":' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"CANARY": ' + "9" * 5000 + "}",
    ],
)
def test_secret_that_is_not_text_or_too_deep_is_refused_without_showing_it(text: str) -> None:
    with pytest.raises(JobError) as refused:
        read_credentials("env://W", {"W": text})
    assert refused.value.code == "CATALOG_004"
    assert "CANARY" not in str(refused.value)


def test_secret_of_any_depth_is_read_or_refused() -> None:
    for depth in range(100, 1100, 7):
        try:
            read_credentials("env://W", {"W": '{"a":' * depth + "1" + "}" * depth})
        except JobError as refused:
            assert refused.code == "CATALOG_004"  # noqa: PT017 - both are right


def test_secret_at_the_end_of_a_text_that_is_cut_shows_no_part_of_itself() -> None:
    read_credentials("env://W", {"W": "canary-in-the-cold-mine-4711"})
    assert "canary" not in shorten("x" * 190 + "canary-in-the-cold-mine-4711")


@pytest.mark.parametrize("secret", ["1000", "succeeded", "attempt", "status"])
def test_secret_that_looks_like_a_part_of_the_report_leaves_it_readable(secret: str) -> None:
    read_credentials("env://W", {"W": secret})
    operation = OperationReport(10, "update", "op", 1000, 1000, 0.1)
    (error,) = make_error_reports(JobError("INFRA_001", f"said {secret}"), None)
    report = Report("a" * 64, 1, "succeeded", operations=(operation,), error=error)
    found = report.to_dict()
    assert (found["status"], found["attempt"], found["operations"][0]["rows_after"]) == ("succeeded", 1, 1000)
    assert found["error"]["message"] == "said ***"
