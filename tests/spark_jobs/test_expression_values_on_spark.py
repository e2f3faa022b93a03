"""Single rules of the language, executed on Spark."""

import random
from datetime import UTC, date, datetime
from decimal import Context, Decimal

import pytest
from pyspark.errors import PySparkException

from airflow_provider_runtime.core.errors import DataError
from airflow_provider_runtime.core.expr.checker import check_expression
from airflow_provider_runtime.core.expr.evaluator import evaluate
from airflow_provider_runtime.core.expr.run_constants import RunConstants
from airflow_provider_runtime.core.expr.scope import Relation, Scope, ScopeColumn
from airflow_provider_runtime.core.expr.spark_sql import compile_sql
from airflow_provider_runtime.core.model.schema import (
    BOOLEAN,
    DATE,
    INTEGER,
    STRING,
    TIMESTAMP,
    make_decimal,
)

pytestmark = pytest.mark.spark
NOW = datetime(2026, 2, 1, 3, 4, 5, 678901, tzinfo=UTC)
RUN = RunConstants(NOW, "2026-01", date(2026, 1, 1), date(2026, 1, 31), "2025-12")
EXACT = Context(prec=400)
TYPES = {"i": INTEGER, "a": make_decimal(20, 6), "s": STRING, "d": DATE, "at": TIMESTAMP, "ok": BOOLEAN}
SCOPE = Scope(Relation("t", "working", {name: ScopeColumn(kind) for name, kind in TYPES.items()}))
SCHEMA = ", ".join(f"{name} {kind.ddl}" for name, kind in TYPES.items())


def make_sql(text, scope=SCOPE, **options):
    return compile_sql(check_expression(text, scope, **options).expression, run=RUN, mark="1:x")


def collect(spark, rows, *texts, aggregate=False):
    frame = spark.createDataFrame(rows, SCHEMA).alias("@w")
    shown = [f"CAST({make_sql(text, aggregate=aggregate)} AS STRING) AS c{at}" for at, text in enumerate(texts)]
    return [tuple(row) for row in frame.selectExpr(*shown).collect()]


ROW = (7, Decimal("2.5"), "x", date(2026, 1, 31), datetime(2026, 1, 31, 23, 59, 59), True)
NULLS = (None,) * 6


def make_digits(rng, precision):
    value = rng.choice([
        rng.randrange(10**precision), 10**precision - 1, 10 ** (precision - 1),
        rng.randrange(10 ** rng.randint(0, precision)),
        rng.randint(1, 9) * 10 ** rng.randint(0, precision - 1),
    ])  # fmt: skip
    return value * rng.choice([1, 1, -1])


def make_quotient_rows(rng, checked, left, right, count):
    offset, rows = checked.type.scale + right.scale - left.scale, []
    while len(rows) < count:
        top, bottom = make_digits(rng, left.precision), make_digits(rng, right.precision)
        if bottom and rng.random() < 0.6:
            tie = 2 * rng.randrange(10 ** rng.randint(0, min(left.precision, checked.type.precision))) + 1
            top = tie * bottom // (2 * 10**offset) + rng.choice([0, 0, 1, -1])
        if abs(top) >= 10**left.precision:
            continue
        one = Decimal(top).scaleb(-left.scale, EXACT)
        two = Decimal(bottom).scaleb(-right.scale, EXACT)
        try:
            expected = evaluate(checked, {(None, "a"): one, (None, "b"): two}, run=RUN)
        except DataError:
            continue
        rows.append((one, two, expected))
    return rows


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((18, 2), (18, 6)), ((20, 0), (20, 0)), ((20, 6), (20, 6)), ((38, 18), (38, 18)), ((38, 0), (38, 0)),
        ((38, 34), (38, 38)), ((38, 0), (38, 38)), ((38, 34), (38, 0)), ((28, 12), (37, 28)), ((5, 5), (27, 1)),
    ],
)  # fmt: skip
def test_quotient_is_exact_near_ties_and_at_the_extremes(spark, left, right):
    left, right = make_decimal(*left), make_decimal(*right)
    scope = Scope(Relation("t", "working", {"a": ScopeColumn(left), "b": ScopeColumn(right)}))
    checked = check_expression("a / b", scope).expression
    rows = make_quotient_rows(random.Random(left.precision * 41 + right.scale), checked, left, right, 200)
    texts = [(f"{one:f}", f"{two:f}") for one, two, _ in rows]
    frame = spark.createDataFrame(texts, "a string, b string")
    frame = frame.selectExpr(f"CAST(a AS {left.ddl}) a", f"CAST(b AS {right.ddl}) b").alias("@w")
    sql = compile_sql(checked, run=RUN, mark="1:x")
    found = [row.q for row in frame.selectExpr(f"CAST({sql} AS STRING) q").collect()]
    assert [None if text is None else Decimal(text) for text in found] == [row[2] for row in rows]


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("ABS(n)", "-12345678901234567890123456789012345678", "12345678901234567890123456789012345678"),
        ("-n", "12345678901234567890123456789012345678", "-12345678901234567890123456789012345678"),
        ("MAX(n, COALESCE(n, 1))", "12345678901234567890123456789012345678", "12345678901234567890123456789012345678"),
    ],
)
def test_sign_of_a_long_decimal_keeps_every_digit(spark, text, value, expected):
    scope = Scope(Relation("t", "working", {"n": ScopeColumn(make_decimal(38, 0))}))
    frame = spark.sql(f"SELECT CAST('{value}' AS DECIMAL(38,0)) n").alias("@w")
    assert frame.selectExpr(f"CAST({make_sql(text, scope)} AS STRING) x").collect()[0].x == expected


def test_extremes_are_null_when_one_operand_is(spark):
    texts = [
        f"{name}({operand}, COALESCE({operand}, {operand}))"
        for name in ("MIN", "MAX")
        for operand in ("i", "a", "s", "d", "at", "ok")
    ]
    frame = spark.createDataFrame([ROW, NULLS], SCHEMA).alias("@w")
    found = frame.selectExpr(*[f"{make_sql(text)} AS c{at}" for at, text in enumerate(texts)]).collect()
    assert tuple(found[0]) == (7, Decimal("2.5"), "x", *ROW[3:]) * 2
    assert set(found[1]) == {None}


def test_greatest_text_is_found_by_code_points(spark):
    pairs = [("a", "ab"), ("", "a"), ("Z", "a"), ("é", "z"), ("😀", "\uffee"), ("ab", "aZ"), ("", "")]
    frame = spark.createDataFrame(pairs, "s string, u string").alias("@w")
    scope = Scope(Relation("t", "working", {"s": ScopeColumn(STRING), "u": ScopeColumn(STRING)}))
    sql = make_sql("MAX(COALESCE(s, u), COALESCE(u, s))", scope)
    assert [row.x for row in frame.selectExpr(f"{sql} x").collect()] == [max(pair) for pair in pairs]


def test_now_and_today_are_those_of_the_run(spark):
    texts = [
        "NOW()",
        "TODAY()",
        "at < NOW()",
        "d < at",
        "YEAR(at)",
        "MONTH(at)",
        "DAY(at)",
        "MAX(at, NOW())",
        "d = TODAY()",
    ]
    assert collect(spark, [ROW], *texts) == [
        (
            "2026-02-01 03:04:05.678901",
            "2026-02-01",
            "true",
            "true",
            "2026",
            "1",
            "31",
            "2026-02-01 03:04:05.678901",
            "false",
        )
    ]


@pytest.mark.parametrize(
    "text",
    [
        "IF(i > 100, i * 9223372036854775807, 1)", "COALESCE(i, i * 9223372036854775807)",
        "IF(ok, 1, YEAR(DATEADD(d, 99999999)))", "IF(i = 7, 1, i + 9223372036854775807)",
        "IF(i < 100 OR i * 9223372036854775807 > 0, 1, 2)", "IF(i > 100 AND i * 9223372036854775807 > 0, 1, 2)",
    ],
)  # fmt: skip
def test_branch_not_taken_does_not_fail(spark, text):
    assert collect(spark, [ROW], text)[0][0] in ("1", "7", "2")


def test_case_mapping_is_that_of_unicode(spark):
    words = ["straße", "ŽLUŤ", "ǆ", "Σας", "i", "ﬁ", "😀a", "ÅÉ"]
    frame = spark.createDataFrame([(word,) for word in words], "s string").alias("@w")
    found = frame.selectExpr(f"{make_sql('UPPER(s)')} u", f"{make_sql('LOWER(s)')} l").collect()
    assert [(row.u, row.l) for row in found] == [(word.upper(), word.lower()) for word in words]


@pytest.mark.parametrize(
    "value",
    ["\x00", "a\nb\tc\r", "it's", 'say "x"', "back\\slash \\n", "${x} $y", "%_`;--", "/* */", "\u2028\ufeff", "😀\x7f"],
)
def test_text_constant_comes_back_as_written(spark, value):
    text = "'" + value.replace("'", "''") + "'"
    frame = spark.createDataFrame([ROW], SCHEMA).alias("@w")
    assert frame.selectExpr(f"{make_sql(text)} x").collect()[0].x == value


@pytest.mark.parametrize(
    ("text", "target", "expected"),
    [
        ("2.5", INTEGER, 3), ("-2.5", INTEGER, -3), ("2.4999999999", INTEGER, 2), ("a", INTEGER, 3),
        ("i", make_decimal(10, 2), Decimal("7.00")), ("1.005", make_decimal(10, 2), Decimal("1.01")),
        ("-1.005", make_decimal(10, 2), Decimal("-1.01")), ("d", TIMESTAMP, datetime(2026, 1, 31)),
        ("NULL", DATE, None),
        ("s", STRING, "x"), ("ok", BOOLEAN, True), ("NULL", STRING, None),
        ("9223372036854775807.4", INTEGER, 2**63 - 1),
    ],
)  # fmt: skip
def test_value_becomes_the_type_of_its_column(spark, text, target, expected):
    frame = spark.createDataFrame([ROW], SCHEMA).alias("@w")
    checked = check_expression(text, SCOPE).expression
    result = frame.selectExpr(f"{compile_sql(checked, run=RUN, target=target, mark='1:x')} x")
    assert result.schema[0].dataType.simpleString() == target.ddl
    assert result.collect()[0].x == expected


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("a * 9999999999999999999", INTEGER), ("a * 1000", make_decimal(5, 2)), ("i", make_decimal(1, 1)),
        ("i - 8 - 9223372036854775807 - 2", None), ("DATEADD(d, 2912836)", None), ("DATEADD(d, -739999)", None),
        ("DATEADD(d, 9223372036854775807)", None), ("a * 99999999999999999999 * 99999999999999999999", None),
    ],
)  # fmt: skip
def test_value_that_does_not_fit_fails_with_its_mark(spark, text, target):
    frame = spark.createDataFrame([ROW], SCHEMA).alias("@w")
    checked = check_expression(text, SCOPE).expression
    sql = compile_sql(checked, run=RUN, target=target, mark="1:x")
    with pytest.raises(PySparkException) as caught:
        frame.selectExpr(f"{sql} x").collect()
    assert any("/*@1:x*/" in context.fragment() for context in caught.value.getQueryContext()), sql


def test_days_reach_from_the_first_to_the_last(spark):
    scope = Scope(Relation("t", "working", {"d": ScopeColumn(DATE)}))
    frame = spark.createDataFrame([(date(2026, 1, 31),)], "d date").alias("@w")
    first, last = date.min - date(2026, 1, 31), date.max - date(2026, 1, 31)
    texts = [f"DATEADD(d, {first.days})", f"DATEADD(d, {last.days})", f"DATEADD(DATEADD(d, {last.days}), -1)"]
    row = frame.selectExpr(*[f"{make_sql(text, scope)} c{at}" for at, text in enumerate(texts)]).collect()[0]
    assert tuple(row) == (date.min, date.max, date(9999, 12, 30))


def test_least_integer_has_no_absolute_value(spark):
    frame = spark.createDataFrame([(-(2**63),)], "i bigint").alias("@w")
    with pytest.raises(PySparkException):
        frame.selectExpr(f"{make_sql('ABS(i)')} x").collect()


def test_totals_of_nulls_and_of_values(spark):
    texts = ["SUM(i)", "SUM(a)", "AVG(i)", "AVG(a)", "COUNT(i)", "COUNT(*)", "COUNT_ALL()"]
    texts += [f"{name}({column})" for column in TYPES for name in ("MIN_AGG", "MAX_AGG")]
    nothing = collect(spark, [NULLS, NULLS], *texts, aggregate=True)[0]
    assert nothing == (None, None, None, None, "0", "2", "2", *(None,) * 12)
    other = (8, Decimal("-0.000001"), "Y", date(2025, 1, 1), datetime(2025, 1, 1), False)
    values = collect(spark, [ROW, NULLS, other], *texts, aggregate=True)[0]
    assert values[:7] == ("15", "2.499999", "7.500000", "1.2499995000", "2", "3", "3")
    assert values[7:] == (
        "7", "8", "-0.000001", "2.500000", "Y", "x", "2025-01-01", "2026-01-31",
        "2025-01-01 00:00:00", "2026-01-31 23:59:59", "false", "true",
    )  # fmt: skip


def test_sum_of_decimals_that_does_not_fit_fails_with_its_mark(spark):
    scope = Scope(Relation("t", "working", {"n": ScopeColumn(make_decimal(38, 0))}))
    frame = spark.sql(f"SELECT CAST('{10**38 - 1}' AS DECIMAL(38,0)) n FROM range(2)").alias("@w")
    with pytest.raises(PySparkException) as caught:
        frame.selectExpr(f"{make_sql('SUM(n)', scope, aggregate=True)} x").collect()
    assert any("/*@1:x*/" in context.fragment() for context in caught.value.getQueryContext())


def test_sum_of_integers_that_does_not_fit_fails(spark):
    frame = spark.sql(f"SELECT {2**63 - 1}L i FROM range(2)").alias("@w")
    with pytest.raises(PySparkException) as caught:
        frame.selectExpr(f"{make_sql('SUM(i)', aggregate=True)} x").collect()
    assert caught.value.getCondition() == "CAST_OVERFLOW"


@pytest.mark.parametrize(
    ("text", "pushed"),
    [
        ("a = 0", "EqualTo(a,0"), ("a > 5", "GreaterThan(a,5"), ("s = 'EMEA'", "EqualTo(s,EMEA)"),
        ("i = 7", "EqualTo(i,7)"),
        ("d >= DATE(\"2026-01-01\")", "GreaterThanOrEqual(d,2026-01-01)"), ("s IN ('a', 'b')", "In(s, [a,b])"),
        ("i BETWEEN 1 AND 5", "GreaterThanOrEqual(i,1)"), ("i >= 2.0", "GreaterThanOrEqual(i,2)"),
        ("a < 99999999999999999", "IsNotNull(a)"),
    ],
)  # fmt: skip
def test_comparison_with_a_constant_reaches_the_files(spark, tmp_path, text, pushed):
    spark.createDataFrame([ROW], SCHEMA).write.parquet(str(tmp_path / "t"))
    frame = spark.read.parquet(str(tmp_path / "t")).alias("@w").where(make_sql(text))
    plan = frame._jdf.queryExecution().executedPlan().toString()
    assert pushed in plan, plan[:2000]
