"""Which assigned values are computed even where nobody reads them: those that may fail."""

from __future__ import annotations

import pytest

from spark_jobs.contract.plan import Expression
from spark_jobs.rows.operations.update import list_fallible


@pytest.mark.parametrize(
    "sql",
    [
        "CAST(/*@3:assignments[1].expression*/NULL AS STRING)",
        "CAST(NULL AS DECIMAL(18,2))",
        "`@@accounts`.`type`",
        "IF(`@w`.`a b` = 'ERP', concat(/*@3:x*/`@w`.`d`, ' [1 + 1]'), `@w`.`d`)",
        r"'it\'s + 3'",
        "CASE WHEN `@w`.`n` IS NOT NULL AND NOT `@w`.`n` <= `@w`.`m` THEN TRUE ELSE FALSE END",
    ],
)
def test_texts_choices_and_comparisons_cannot_fail(sql: str) -> None:
    assert list_fallible([Expression("x", "string", sql, "3")]) == []


@pytest.mark.parametrize(
    "sql",
    ["`@w`.`a` + `@w`.`b`", "CAST(`@w`.`a` AS DECIMAL(18,2))", "`a` /*'*/ / `b`", "-`@w`.`a`", "raise_error('x')"],
)
def test_arithmetic_conversions_and_other_functions_may_fail(sql: str) -> None:
    assert list_fallible([Expression("x", "string", sql, "3")]) == ["x"]
