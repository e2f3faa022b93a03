"""A JDBC driver whose class is missing is not worth a retry."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from spark_jobs.errors import JobError
from spark_jobs.sinks.jdbc_target import JdbcTarget
from spark_jobs.spark.databases import DatabaseError, MissingDriverError, is_missing_driver


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("java.lang.ClassNotFoundException: com.mysql.cj.jdbc.Driver", True),
        ("java.sql.SQLException: No suitable driver", True),
        ("org.postgresql.util.PSQLException: Connection to db:5432 refused.", False),
        ("org.postgresql.util.PSQLException: FATAL: password authentication failed", False),
    ],
)
def test_missing_driver_is_distinguished_from_other_failures(text: str, missing: bool) -> None:
    assert is_missing_driver(text) is missing


@pytest.mark.parametrize(
    ("failure", "code", "hint"),
    [
        (MissingDriverError("com.mysql.cj.jdbc.Driver"), "OUTPUT_002", "`--jars`"),
        (DatabaseError("connection refused"), "OUTPUT_003", "run it again"),
    ],
)
def test_missing_driver_at_an_output_says_where_its_jar_goes(failure: DatabaseError, code: str, hint: str) -> None:
    output: Any = SimpleNamespace(destination=SimpleNamespace(display="dwh.gl"), mark="10")
    nothing: Any = None
    target = JdbcTarget(nothing, output, nothing, (), nothing)
    with pytest.raises(JobError) as caught, target.explained():
        raise failure
    assert (caught.value.code, caught.value.mark) == (code, "10")
    assert hint in str(caught.value.hint)
    assert str(failure) in caught.value.message
