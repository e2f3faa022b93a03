"""Options that are taken, whatever words their names end with."""

from __future__ import annotations

import pytest

from airflow_provider_runtime.core.catalog.rules_options import find_option_faults
from airflow_provider_runtime.core.catalog.rules_secrets import find_secret_word, holds_secret
from tests.unit.catalog.builders import load

USUAL = [
    "partitionColumn", "fetchsize", "sep", "quote", "multiLine", "keepAlive", "tcpKeepAlive", "monkey", "keytab",
    "keyspace", "sslkey", "primarykey", "mergeSchema", "customSchema", "lowerBound", "pathGlobFilter", "dateFormat",
    "fs.s3a.endpoint", "connectTimeout",
]  # fmt: skip


@pytest.mark.parametrize("name", USUAL)
def test_usual_option_is_no_secret(name: str) -> None:
    assert find_secret_word(name) is None
    assert not holds_secret(f"jdbc:postgresql://h/d?{name}=1")


@pytest.mark.parametrize("value", ["s3a://b/key=1/sig=2", "jdbc:x://h:5432/d", "header=true", "key=1"])
def test_usual_value_holds_no_secret(value: str) -> None:
    assert not holds_secret(value)


def test_strict_mode_may_be_named() -> None:
    assert not list(find_option_faults({"Mode": "failfast"}, "csv"))
    assert not list(find_option_faults({"mode": "x"}, "jdbc"))


@pytest.mark.parametrize(
    ("written", "read"), [("CSV", "csv"), ("Parquet", "parquet"), ("JDBC", "jdbc"), ("Avro", "Avro")]
)
def test_known_formats_are_taken_in_any_case(written: str, read: str) -> None:
    loaded = load(f"datasource: {{id: x, type: {written}}}\n")
    assert loaded.catalog.datasources["x"].model.type == read
