"""Options that are taken, whatever words their names end with."""

from __future__ import annotations

import pytest

from airflow_provider_runtime.core.catalog.rules_options import find_option_faults
from airflow_provider_runtime.core.catalog.rules_secrets import find_secret_word, holds_secret
from tests.unit.core.catalog.builders import load

USUAL = [
    "partitionColumn", "fetchsize", "sep", "quote", "multiLine", "keepAlive", "tcpKeepAlive", "monkey", "keytab",
    "keyspace", "sslkey", "primarykey", "mergeSchema", "customSchema", "lowerBound", "pathGlobFilter", "dateFormat",
    "fs.s3a.endpoint", "connectTimeout",
]  # fmt: skip


@pytest.mark.parametrize("name", USUAL)
def test_usual_option_is_not_a_secret(name: str) -> None:
    assert find_secret_word(name) is None
    assert not holds_secret(f"jdbc:postgresql://h/d?{name}=1")


@pytest.mark.parametrize("value", ["s3a://b/key=1/sig=2", "jdbc:x://h:5432/d", "header=true", "key=1"])
def test_usual_value_holds_no_secret(value: str) -> None:
    assert not holds_secret(value)


@pytest.mark.parametrize(
    "value",
    [
        "s3a://AK:12/hunter2@bucket/w", "s3a://AK:12@bucket", "jdbc:oracle:oci8:scott/hunter2@h",
        "jdbc:oracle:thin:scott/hunter2@h", "a b jdbc:x://u:p@h",
    ],
)  # fmt: skip
def test_login_in_a_url_is_a_secret(value: str) -> None:
    assert holds_secret(value)


@pytest.mark.parametrize("part", ["//a:", "//", "jdbc:oracle:thin:", "jdbc:oracle:a:b/", "a=", "key"])
def test_secret_is_looked_for_once_in_a_long_text(part: str) -> None:
    """A pattern that backtracks makes this run into its timeout."""
    holds_secret(part * 200_000)


@pytest.mark.parametrize(
    "text",
    [
        "datasource: {id: 'https://u:hunter2@h', type: csv}",
        "datasource: {id: x, type: 'jdbc:x://u:hunter2@h'}",
        "datasource: {id: x, type: 'jdbc:x://u:hunter2LONG@h'}",
        "datasource: {id: x, type: csv, status: 'https://u:hunter2LONG@h'}",
        "datasource: {id: x, type: jdbc, options: {url: 'jdbc:postgresql://u:hunter2=LONG@h/d'}}",
        "datasource: {id: x, type: jdbc, options: {url: 'jdbc:postgresql://h/d?password=a&hunter2=LONG'}}",
        "datasource: {id: x, type: csv, 'https://u:hunter2@h': x}",
        "'https://u:hunter2@h': {id: x}",
        "datasource: {id: x, type: csv, id: y, 'https://u:hunter2@h': x, 'https://u:hunter2@h': x}",
        "calendar: {id: x, levels: [{name: a}], periods: [{identifier: a, level: a, start_date: '//u:hunter2@h'}]}",
    ],
)
def test_login_in_the_wrong_place_is_not_repeated(text: str) -> None:
    problems = load(text.replace("LONG", "g" * 60)).problems
    assert problems
    for problem in problems:
        assert "hunter2" not in f"{problem.message} {problem.hint} {problem.location.source_line}"


def test_strict_mode_may_be_named() -> None:
    assert not list(find_option_faults({"Mode": "failfast"}, "csv"))
    assert not list(find_option_faults({"mode": "x"}, "parquet"))


def test_property_of_a_connection_that_is_not_listed_is_refused_with_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    url = "jdbc:postgresql://h/d?dnsResolver=x.Y"
    ((option, message, hint),) = find_option_faults({"url": url, "fetchsize": "5"}, "jdbc")
    assert (option, message.partition(":")[0]) == ("url", "the url's property 'dnsResolver' is refused")
    assert hint.startswith("allowed are adaptiveFetch, ")
    monkeypatch.setenv("AIRFLOW_RUNTIME_JDBC_PROPERTIES", "postgresql:dnsResolver")
    assert not list(find_option_faults({"url": url}, "jdbc"))


@pytest.mark.parametrize("kind", ["parquet", "orc", "csv", "json", "avro"])
def test_options_that_leave_out_files_are_refused(kind: str) -> None:
    for name in ("ignoreCorruptFiles", "IGNOREMISSINGFILES"):
        assert [fault[0] for fault in find_option_faults({name: "true"}, kind)] == [name]
        assert not list(find_option_faults({name: "False"}, kind))


@pytest.mark.parametrize("option", ["enforceSchema=true", "columnPruning=TRUE", "unescapedQuoteHandling=skip_value"])
def test_options_that_leave_out_or_mix_up_values_of_csv_are_refused(option: str) -> None:
    name, value = option.split("=")
    assert [fault[0] for fault in find_option_faults({name: value}, "csv")] == [name]
    assert not list(find_option_faults({name: "false"}, "csv"))


@pytest.mark.parametrize(
    ("written", "read"), [("CSV", "csv"), ("Parquet", "parquet"), ("JDBC", "jdbc"), ("Avro", "Avro")]
)
def test_known_formats_are_taken_in_any_case(written: str, read: str) -> None:
    loaded = load(f"datasource: {{id: x, type: {written}}}\n")
    assert loaded.catalog.datasources["x"].model.type == read
