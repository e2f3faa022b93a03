"""Every function of the language gives the same in Spark and in Python."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from pyspark.errors import PySparkException

from airflow_provider_runtime.core.errors import DataError
from airflow_provider_runtime.core.expr.checker import check_expression
from airflow_provider_runtime.core.expr.evaluator import evaluate
from airflow_provider_runtime.core.expr.functions import FUNCTIONS
from airflow_provider_runtime.core.expr.run_constants import RunConstants
from airflow_provider_runtime.core.expr.scope import Relation, Scope, ScopeColumn
from airflow_provider_runtime.core.expr.spark_sql import compile_sql
from airflow_provider_runtime.core.model.schema import BOOLEAN, DATE, INTEGER, STRING, TIMESTAMP, make_decimal

pytestmark = pytest.mark.spark
NOW = datetime(2026, 2, 1, tzinfo=UTC)
RUN = RunConstants(NOW, "2026-01", date(2026, 1, 1), date(2026, 1, 31), "2025-12")
TYPES = {
    "amount": make_decimal(18, 3), "count": INTEGER, "code": STRING, "unit": STRING, "booked": DATE, "active": BOOLEAN,
}  # fmt: skip
SCOPE = Scope(Relation("t", "working", {name: ScopeColumn(kind) for name, kind in TYPES.items()}))
ROWS = [
    (Decimal("12.345"), 7, "A-7", "kg", date(2026, 1, 31), True),
    (Decimal("-0.500"), -3, "", " ", date(2024, 2, 29), False),
    (None, None, None, None, None, None),
]


def test_example_of_every_function_gives_the_same_in_spark_and_in_python(spark):
    texts = [function.example for function in FUNCTIONS.values() if function.value or function.name in ("AND", "OR")]
    checked = [check_expression(text, SCOPE).expression for text in texts]
    schema = ", ".join(f"{name} {kind.ddl}" for name, kind in TYPES.items())
    frame = spark.createDataFrame(ROWS, schema).alias("@w")
    columns = [f"{compile_sql(one, run=RUN, mark='m')} AS c{at}" for at, one in enumerate(checked)]
    # A timestamp that is collected is a local one without a zone: the session's zone is UTC.
    found = [list(row) for row in frame.selectExpr(*columns).collect()]
    for row, values in zip(ROWS, found, strict=True):
        named = {(None, name): value for name, value in zip(TYPES, row, strict=True)}
        for text, one, value in zip(texts, checked, values, strict=True):
            expected = evaluate(one, named, run=RUN)
            expected = expected.replace(tzinfo=None) if isinstance(expected, datetime) else expected
            assert value == expected, (text, row)


TEXTS = [
    "", " ", "0", "-0", "7", " -12 ", "007", "+7", "1.", ".5", "1.5", "1.50", "1.500000", "1.505", "-1.25", "1e3",
    "1E3", "4.0", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "99999",
    "12345678", "0" * 60 + "7",
    "1." + "0" * 60, "1\n", "\t1", "1 2", "1,5", "--1", "- 1", "٣", "NaN", "x", "\u00a01", "1d", "1L", "0x1", "?1",
    "2026-01-31", " 2026-01-31 ", "2026-02-29", "2024-02-29", "0000-01-01", "0001-01-01", "9999-12-31", "2026-1-1",
    "2026-01-31T00:00:00", "20260131", "2026", "2026-13-01", "-2026-01-31", "12026-01-31", "epoch", "now",
]  # fmt: skip
FORMS = ["INTEGER({})", "NUMBER({}, 5, 2)", "NUMBER({}, 3, 0)", "NUMBER({}, 38, 38)", "NUMBER({}, 38, 0)", "DATE({})"]


@pytest.mark.parametrize("form", FORMS)
def test_text_is_read_or_refused_as_in_python(spark, form):
    quiet = check_expression(f"TRY_{form.format('code')}", SCOPE).expression
    loud = check_expression(form.format("code"), SCOPE).expression
    frame = spark.createDataFrame([(text,) for text in TEXTS], "code string").alias("@w")
    tried = [row[0] for row in frame.selectExpr(compile_sql(quiet, run=RUN)).collect()]
    assert tried == [evaluate(quiet, {(None, "code"): text}, run=RUN) for text in TEXTS]
    readable = [(text,) for text, value in zip(TEXTS, tried, strict=True) if value is not None]
    frame = spark.createDataFrame(readable, "code string").alias("@w")
    assert [row[0] for row in frame.selectExpr(compile_sql(loud, run=RUN)).collect()] == [
        evaluate(loud, {(None, "code"): text}, run=RUN) for (text,) in readable
    ]
    refused = [text for text, value in zip(TEXTS, tried, strict=True) if value is None]
    for text in refused:
        with pytest.raises(DataError):
            evaluate(loud, {(None, "code"): text}, run=RUN)
    for text in ("1e3", "2026-02-30", "1." + "9" * 40):
        refusing = spark.createDataFrame([(text,)], "code string").alias("@w")
        with pytest.raises(PySparkException) as caught:
            refusing.selectExpr(f"{compile_sql(loud, run=RUN, mark='1:x')} AS x").collect()
        assert any("/*@1:x*/" in context.fragment() for context in caught.value.getQueryContext()), text


@pytest.mark.parametrize("text", ["POWER(count, 10)", "ADDMONTHS(booked, count)", "EOMONTH(booked, -count)"])
@pytest.mark.parametrize("count", [96_000, -96_000, 10**9, -(2**63) + 1])
def test_value_out_of_range_fails_with_its_mark(spark, text, count):
    checked = check_expression(text, SCOPE).expression
    frame = spark.createDataFrame([(count, date(2026, 1, 31))], "count bigint, booked date").alias("@w")
    with pytest.raises(PySparkException) as caught:
        frame.selectExpr(f"{compile_sql(checked, run=RUN, mark='1:x')} AS x").collect()
    assert any("/*@1:x*/" in context.fragment() for context in caught.value.getQueryContext())
    with pytest.raises(DataError):
        evaluate(checked, {(None, "count"): count, (None, "booked"): date(2026, 1, 31)}, run=RUN)


def test_timestamp_as_text_has_a_fraction_only_when_there_is_one(spark):
    checked = check_expression("TEXT(at)", Scope(Relation("t", "working", {"at": ScopeColumn(TIMESTAMP)}))).expression
    moments = [datetime(2026, 2, 1, 3, 4, 5, microsecond, tzinfo=UTC) for microsecond in (0, 500_000, 678_901, 1)]
    frame = spark.createDataFrame([(moment,) for moment in moments], "at timestamp").alias("@w")
    found = [row.x for row in frame.selectExpr(f"{compile_sql(checked, run=RUN)} AS x").collect()]
    assert found == [evaluate(checked, {(None, "at"): moment}, run=RUN) for moment in moments]
    assert found[:2] == ["2026-02-01T03:04:05Z", "2026-02-01T03:04:05.5Z"]


def test_case_may_contain_aggregates(spark):
    text = 'CASE SUM(count) WHEN 4 THEN COUNT(*) ELSE COUNT_DISTINCT(code || "") END'
    checked = check_expression(text, SCOPE, aggregate=True).expression
    frame = spark.createDataFrame([(3, "a"), (1, "a")], "count bigint, code string").alias("@w")
    assert frame.selectExpr(f"{compile_sql(checked, run=RUN, mark='m')} AS x").collect()[0].x == 2
