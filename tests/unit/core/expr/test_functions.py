"""The table of functions: every entry is complete, and the job lets pass what entries compile to."""

import re
from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from airflow_provider_runtime.core.expr.checker import check_expression
from airflow_provider_runtime.core.expr.functions import FUNCTION_GROUPS, FUNCTIONS
from airflow_provider_runtime.core.expr.run_constants import RunConstants
from airflow_provider_runtime.core.expr.scope import Relation, Scope, ScopeColumn
from airflow_provider_runtime.core.expr.spark_sql import OPERATOR_WORDS, compile_assignment
from airflow_provider_runtime.core.model.schema import BOOLEAN, DATE, INTEGER, STRING, TIMESTAMP, make_decimal
from spark_jobs.contract.compiled_sql import find_foreign_part

COLUMNS = {
    "amount": make_decimal(18, 3), "w": make_decimal(38, 6), "i": INTEGER, "code": STRING, "unit": STRING,
    "booked": DATE, "at": TIMESTAMP, "active": BOOLEAN,
}  # fmt: skip
SCOPE = Scope(Relation("t", "working", {name: ScopeColumn(kind) for name, kind in COLUMNS.items()}))
OPERATORS = {"AND", "OR", "NOT", "ISNULL"}
RUN = RunConstants(datetime(2026, 2, 1, tzinfo=UTC), "2026-01", date(2026, 1, 1), date(2026, 1, 31), "2025-12")


def compile_text(text, function):
    scope = replace(SCOPE, allows_groups=bool(function.group_form))
    checked = check_expression(text, scope, aggregate=function.is_aggregate).expression
    if checked is None:
        return ""
    sql, steps = compile_assignment(checked, run=RUN, target=checked.type, mark="m", prefix="g")
    return " + ".join([sql, *(column.sql for step in steps for column in step)])


def compile_forms(function):
    """The example, and the function of columns of any type that it takes, which may be NULL in more than one way."""
    texts = [function.example]
    count = max(function.fewest_arguments, 1)
    for name in COLUMNS:
        texts += [f"{function.name}({', '.join([operand] * count)})" for operand in (name, f"COALESCE({name}, {name})")]
    return [sql for sql in (compile_text(text, function) for text in texts) if sql]


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=lambda function: function.name)
def test_entry_names_the_spark_functions_that_it_compiles_to(function):
    forms = compile_forms(function)
    assert forms
    called = {word.lower() for sql in forms for word in re.findall(r"\b([A-Za-z_]+) ?\(", re.sub(r"'[^']*'", "", sql))}
    assert called <= function.spark_functions | OPERATOR_WORDS | {"coalesce", "right"}
    assert function.spark_functions - {"distinct"} <= called
    assert [find_foreign_part(sql) for sql in forms] == [None] * len(forms)


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=lambda function: function.name)
def test_entry_can_be_evaluated_unless_it_is_an_operator_or_an_aggregate(function):
    assert (function.value is None) == (
        function.is_aggregate or function.group_form != "" or function.name in OPERATORS
    )
    assert function.doc
    assert function.signature.startswith(f"{function.name}(")


def test_no_function_is_in_the_table_twice():
    assert len(FUNCTIONS) == sum(len(group) for group in FUNCTION_GROUPS.values())
