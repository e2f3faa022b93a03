"""Conditions of joins that become alternatives with an equality each."""

import pytest

from airflow_provider_runtime.core.expr.checker import check_expression
from airflow_provider_runtime.core.expr.scope import Relation, Scope, ScopeColumn
from airflow_provider_runtime.core.expr.spark_sql import compile_alternatives
from airflow_provider_runtime.core.model.schema import BOOLEAN, INTEGER, STRING, make_decimal
from tests.unit.core.expr.test_checker import RUN

ROW = {"a": STRING, "b": STRING, "n": INTEGER, "ok": BOOLEAN}
DIMENSION = {"p": STRING, "q": STRING, "m": make_decimal(18, 2), "kind": STRING}
SCOPE = Scope(
    Relation("t", "working", {name: ScopeColumn(kind) for name, kind in ROW.items()}),
    {"x": Relation("x", "join", {name: ScopeColumn(kind) for name, kind in DIMENSION.items()})},
)
A, B, P, Q = "`@w`.`a`", "`@w`.`b`", "`@@x`.`p`", "`@@x`.`q`"
NULL_SAFE = [f"{A} <=> {P}"]


def split(text: str) -> list[str]:
    checked = check_expression(text, SCOPE).expression
    assert checked is not None
    return compile_alternatives(checked, "x", run=RUN, mark="m")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = x.p OR a = x.q", [f"{A} = {P}", f"{A} = {Q}"]),
        ("a IN (x.p, x.q)", [f"{A} = {P}", f"{A} = {Q}"]),
        ("x.p IN (a, b)", [f"{P} = {A}", f"{P} = {B}"]),
        ("ok AND (a = x.p OR b = x.q)", [f"{A} = {P} AND `@w`.`ok`", f"{B} = {Q} AND `@w`.`ok`"]),
        ("(a = x.p AND ok) OR a = x.q", [f"{A} = {P} AND `@w`.`ok`", f"{A} = {Q}"]),
        ("a = x.p OR (a IS NULL AND x.p IS NULL)", NULL_SAFE),
        ("(ISNULL(x.p) AND a IS NULL) OR x.p = a", [f"{P} <=> {A}"]),
        ("COALESCE(a = x.p, a IS NULL AND x.p IS NULL)", NULL_SAFE),
        ("IF(a = x.p, TRUE, a IS NULL AND x.p IS NULL)", NULL_SAFE),
        ("IF(a IS NULL, x.p IS NULL, a = x.p)", NULL_SAFE),
        ("CASE WHEN a IS NULL THEN x.p IS NULL ELSE a = x.p END", NULL_SAFE),
        ("IF(a = x.p, TRUE, FALSE)", [f"{A} = {P}"]),
        ("COALESCE(a = x.p, FALSE)", [f"{A} = {P}"]),
        ("NOT a != x.p", [f"{A} = {P}"]),
        ("ok AND IF(a = x.p, TRUE, a = x.q)", [f"{A} = {P} AND `@w`.`ok`", f"{A} = {Q} AND `@w`.`ok`"]),
        ("(a = x.p AND x.kind = b) OR (a = x.p AND x.kind = 'Z')",
         [f"{A} = {P} AND ({A} = {P} AND `@@x`.`kind` = {B} OR {A} = {P} AND `@@x`.`kind` = 'Z')"]),
    ],
)  # fmt: skip
def test_condition_becomes_alternatives_with_an_equality_each(text: str, expected: list[str]) -> None:
    assert split(text) == expected


def test_null_safe_equality_of_different_types_compares_what_both_become() -> None:
    (found,) = split("n = x.m OR (n IS NULL AND x.m IS NULL)")
    assert found == "CAST(`@w`.`n` AS DECIMAL(22,2)) <=> CAST(`@@x`.`m` AS DECIMAL(22,2))"


@pytest.mark.parametrize(
    "text",
    [
        "a = x.p AND (b = x.q OR ok)",  # has an equality for all cases
        "a = x.p OR ok",
        "a = x.p OR x.m > n",
        "a LIKE 'x%' AND x.kind = x.q",
        "NOT (a = x.p)",
        "a NOT IN (x.p, x.q)",
        "IF(n + 1 > x.m, a = x.p, a = x.q)",  # what is not chosen must not be computed: it can fail
    ],
)
def test_condition_that_is_one_lookup_or_none_stays(text: str) -> None:
    assert split(text) == []
