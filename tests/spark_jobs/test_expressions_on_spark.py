"""Random typed expressions: Spark and the evaluator agree to the last digit."""

import random
from datetime import UTC, date, datetime
from decimal import Decimal, localcontext

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions

from airflow_provider_runtime.core.errors import DataError
from airflow_provider_runtime.core.expr.checker import check_expression
from airflow_provider_runtime.core.expr.evaluator import evaluate
from airflow_provider_runtime.core.expr.run_constants import RunConstants
from airflow_provider_runtime.core.expr.scope import Relation, Scope, ScopeColumn
from airflow_provider_runtime.core.expr.spark_sql import compile_sql
from airflow_provider_runtime.core.model.schema import BOOLEAN, DATE, INTEGER, STRING, make_decimal
from spark_jobs.contract.compiled_sql import find_foreign_part

pytestmark = pytest.mark.spark
NOW = datetime(2026, 2, 1, tzinfo=UTC)
RUN = RunConstants(NOW, "2026-01", date(2026, 1, 1), date(2026, 1, 31), "2025-12")
TYPES = {
    "a": make_decimal(20, 6), "b": make_decimal(20, 6), "r": make_decimal(18, 8), "w": make_decimal(38, 10),
    "i": INTEGER, "j": INTEGER, "s": STRING, "u": STRING, "d": DATE, "e": DATE, "ok": BOOLEAN, "no": BOOLEAN,
}  # fmt: skip
SCOPE = Scope(Relation("t", "working", {name: ScopeColumn(kind) for name, kind in TYPES.items()}))


PATTERNS = [
    r"'%a%'",
    r"'_'",
    r"'A__'",
    r"'%\%'",
    r"'%b'",
    r"'\\%'",
    r"'%!%%' ESCAPE '!'",
    r"'%$_x' ESCAPE '$'",
    "''",
    "'%'",
]


def make_value(rng, kind):
    if rng.random() < 0.15:
        return None
    if kind.kind == "decimal":
        digits = rng.choice([1, 3, 7, min(kind.precision, 14)])
        return Decimal(rng.randint(-(10**digits), 10**digits)).scaleb(-kind.scale)
    if kind.kind == "integer":
        return rng.choice([0, 1, -1, 7, -13, 1000, rng.randint(-(10**9), 10**9)])
    if kind.kind == "string":
        return rng.choice(
            ["", "a", "Abc", " x ", "žluť", "😀b", "a'b\\c", 'q"$', "12", " -3.50", "2026-02-28", "a\nb", "50%_x"]
        )
    if kind.kind == "date":
        return date.fromordinal(rng.randint(700000, 750000))
    return rng.choice([True, False])


LEAVES = {
    "number": ["a", "b", "r", "w", "i", "j", "0", "3", "2.5", "0.07", "100"],
    "boolean": ["ok", "no", "TRUE", "NULL = 1"],
    "string": ["s", "u", "'it''s'", '"\\n$x"', '""'],
    "date": ["d", "e", 'DATE("2026-01-31")', "TODAY()"],
}


def make_text(rng, kind, depth):
    if depth <= 0 or rng.random() < 0.15:
        return rng.choice(LEAVES[kind])

    def sub(other):
        return make_text(rng, other, depth - 1)

    make = {"number": make_number, "boolean": make_boolean, "string": make_string, "date": make_date}[kind]
    return make(rng, sub)


def make_number(rng, sub):
    return rng.choice([
        lambda: f"({sub('number')} + {sub('number')} - {sub('number')})",
        lambda: f"{rng.choice('abrij')} * {rng.choice(['i', 'r', '1.1', 'a'])}",
        lambda: f"ROUND({sub('number')} / {sub('number')}, 4)",
        lambda: f"{rng.choice('abrij')} / {rng.choice(['i', 'r', 'b', '7', 'w'])}",
        lambda: f"ROUND({sub('number')}, {rng.randint(0, 3)})",
        lambda: f"{rng.choice(['FLOOR', 'CEIL', 'ABS', '-'])}({sub('number')})",
        lambda: f"MOD({rng.choice('abrij')}, {rng.choice('abrij')})",
        lambda: f"{rng.choice(['MIN', 'MAX'])}({sub('number')}, {sub('number')})",
        lambda: f"IF({sub('boolean')}, {sub('number')}, {sub('number')})",
        lambda: f"COALESCE({sub('number')}, {sub('number')})",
        lambda: f"LEN({sub('string')})",
        lambda: f"{rng.choice(['ROUNDUP', 'ROUNDDOWN', 'ROUND_EVEN'])}({sub('number')}, {rng.randint(0, 3)})",
        lambda: f"{rng.choice(['ROUNDUP', 'ROUNDDOWN', 'ROUND_EVEN'])}({sub('number')} * 0.5)",
        lambda: f"SIGN({sub('number')})",
        lambda: f"POWER(ROUND({sub('number')}, 1) * 0.001, {rng.randint(0, 4)})",
        lambda: f"NULLIF({sub('number')}, {sub('number')})",
        lambda: f"CASE WHEN {sub('boolean')} THEN {sub('number')} WHEN ok THEN 1 END",
        lambda: f"CASE {sub('string')} WHEN s THEN 1.5 WHEN {sub('string')} THEN {sub('number')} ELSE i END",
        lambda: f"POSITION({sub('string')}, {sub('string')})",
        lambda: f"{rng.choice(['QUARTER', 'WEEKDAY'])}({sub('date')})",
        lambda: f"MONTHS_BETWEEN({sub('date')}, {sub('date')})",
        lambda: f"TRY_INTEGER({sub('string')})",
        lambda: f"INTEGER(TEXT({rng.choice(['i', 'j', 'DAY(d)'])}))",
        lambda: f"TRY_NUMBER({sub('string')}, {rng.choice(['5, 2', '20, 6', '38, 0', '38, 38'])})",
        lambda: f"NUMBER(TEXT({rng.choice('abrij')}), 38, 8)",
        lambda: "PERIOD_DAYS()",
        lambda: f"DATEDIFF({sub('date')}, {sub('date')})",
        lambda: f"{rng.choice(['YEAR', 'MONTH', 'DAY'])}({sub('date')})",
    ])()  # fmt: skip


def make_boolean(rng, sub):
    same = rng.choice(["number", "string", "date"])
    return rng.choice([
        lambda: f"({sub('boolean')} AND {sub('boolean')})",
        lambda: f"({sub('boolean')} OR {sub('boolean')})",
        lambda: f"(NOT {sub('boolean')})",
        lambda: f"({sub(same)} {rng.choice(['=', '<>', '<', '>='])} {sub(same)})",
        lambda: f"({sub(same)} IN ({sub(same)}, {sub(same)}))",
        lambda: f"({sub(same)} NOT BETWEEN {sub(same)} AND {sub(same)})",
        lambda: f"({sub(same)} IS NULL)",
        lambda: f"CONTAINS({sub('string')}, {sub('string')})",
        lambda: f"{rng.choice(['STARTS_WITH', 'ENDS_WITH'])}({sub('string')}, {sub('string')})",
        lambda: f"({sub('string')} {rng.choice(['', 'NOT '])}LIKE {rng.choice(PATTERNS)})",
    ])()  # fmt: skip


def make_string(rng, sub):
    return rng.choice([
        lambda: f"CONCAT({sub('string')}, {sub('string')})",
        lambda: f"{rng.choice(['LEFT', 'RIGHT'])}({sub('string')}, {rng.choice(['i', '2', '-1', 'LEN(s)'])})",
        lambda: f"TRIM({sub('string')})",
        lambda: f"({sub('string')} || {sub('string')} || {sub('string')})",
        lambda: f"TEXT({sub(rng.choice(['number', 'date', 'boolean']))})",
        lambda: f"SUBSTRING({sub('string')}, {rng.choice(['i', '2', '-1', '0', 'LEN(u)'])})",
        lambda: f"SUBSTRING({sub('string')}, {rng.choice('j21')}, {rng.choice(['i', '2', '-1', 'LEN(s)'])})",
        lambda: f"PAD_{rng.choice(['LEFT', 'RIGHT'])}({sub('string')}, {rng.choice(['DAY(d)', '5', '-1'])}, '😀')",
        lambda: f"NULLIF({sub('string')}, {sub('string')})",
        lambda: f"CASE {rng.choice('ij')} WHEN 0 THEN {sub('string')} WHEN 1 THEN NULL ELSE {sub('string')} END",
        lambda: f"REPLACE({sub('string')}, {sub('string')}, {sub('string')})",
    ])()  # fmt: skip


def make_date(rng, sub):
    return rng.choice([
        lambda: f"DATEADD({sub('date')}, {rng.choice(['30', 'DAY(d)', '-1'])})",
        lambda: f"ADDMONTHS({sub('date')}, {rng.choice(['1', '-1', 'DAY(d)', '-25', 'LEN(s)'])})",
        lambda: f"EOMONTH({sub('date')}{rng.choice(['', ', 1', ', -12', ', DAY(e)'])})",
        lambda: f"DATE_TRUNC('{rng.choice(['year', 'quarter', 'month', 'week'])}', {sub('date')})",
        lambda: f"DATE(TEXT({sub('date')}))",
        lambda: f"TRY_DATE({sub('string')})",
        lambda: rng.choice(["PERIOD_START()", "PERIOD_END()"]),
    ])()  # fmt: skip


def make_cases(rng, count):
    cases = []
    while len(cases) < count:
        kind = rng.choice(["number", "number", "boolean", "string", "date"])
        text = make_text(rng, kind, rng.randint(1, 3))
        checked = check_expression(text, SCOPE).expression
        if checked is not None and checked.type.kind != "null":
            cases.append((text, checked))
    return cases


def evaluate_all(checked, rows):
    """The values, or None when one of the rows cannot be evaluated."""
    try:
        return [evaluate(checked, {(None, name): value for name, value in row.items()}, run=RUN) for row in rows]
    except DataError:
        return None


@pytest.mark.parametrize("seed", range(2))
def test_random_expressions_agree_with_the_evaluator(spark, seed):
    rng = random.Random(seed)
    rows = [{name: make_value(rng, kind) for name, kind in TYPES.items()} for _ in range(40)]
    schema = ", ".join(f"{name} {kind.ddl}" for name, kind in TYPES.items())
    frame = spark.createDataFrame([tuple(row.values()) for row in rows], schema).alias("@w")
    cases = [(text, checked, evaluate_all(checked, rows)) for text, checked in make_cases(rng, 150)]
    cases = [case for case in cases if case[2] is not None]
    assert len(cases) > 100
    for first in range(0, len(cases), 25):
        batch = cases[first : first + 25]
        compiled = [compile_sql(checked, run=RUN, mark="1:x") for _, checked, _ in batch]
        result = frame.selectExpr(*[f"{sql} AS c{at}" for at, sql in enumerate(compiled)])
        types = [field.dataType.simpleString() for field in result.schema.fields]
        found = result.collect()
        for at, (text, checked, expected) in enumerate(batch):
            assert find_foreign_part(compiled[at]) is None, text
            assert types[at] == checked.type.ddl, text
            assert [row[at] for row in found] == expected, (text, compiled[at])


def test_totals_agree_with_exact_arithmetic(spark):
    texts = [
        "SUM(a)",
        "AVG(a)",
        "AVG(i)",
        "SUM(a * r) / COUNT(*)",
        "COUNT(s)",
        "MIN_AGG(s)",
        "MAX_AGG(d)",
        "SUM(i) + 1",
    ]
    rng = random.Random(5)
    rows = [{name: make_value(rng, kind) for name, kind in TYPES.items()} for _ in range(60)]
    schema = ", ".join(f"{name} {kind.ddl}" for name, kind in TYPES.items())
    frame = spark.createDataFrame([tuple(row.values()) for row in rows], schema).alias("@w")
    checked = [check_expression(text, SCOPE, aggregate=True).expression for text in texts]
    sql = [f"{compile_sql(one, run=RUN)} AS c{at}" for at, one in enumerate(checked)]
    result = frame.selectExpr(*sql)
    assert [field.dataType.simpleString() for field in result.schema.fields] == [one.type.ddl for one in checked]
    row = result.collect()[0]
    amounts = [one["a"] for one in rows if one["a"] is not None]
    assert row[0] == sum(amounts)
    assert row[1] == (sum(amounts) / len(amounts)).quantize(Decimal("1e-10"), "ROUND_HALF_UP")
    assert row[4] == sum(one["s"] is not None for one in rows)


@pytest.mark.parametrize(
    ("precision", "scale"),
    [(p, s) for p in (8, 9, 12, 18, 19, 30) for s in (0, 1, 2, 8, 9, 18) if s <= p],
)
def test_totals_of_the_longest_numbers_are_exact(spark, precision, scale):
    kind = make_decimal(precision, scale)
    scope = Scope(Relation("t", "working", {"x": ScopeColumn(kind)}))
    rng = random.Random(precision * 100 + scale)
    longest = 10**precision - 1
    digits = [longest, longest, -longest, -(longest // 2), 1, -1, 10**9, -(10**9), 0]
    digits += [rng.randint(-longest, longest) for _ in range(40)]
    with localcontext(prec=60):
        values = [None, *(Decimal(number).scaleb(-scale) for number in digits if abs(number) <= longest)]
    rows = [(value, key) for value in values for key in ("all", f"{value}")]
    frame = spark.createDataFrame([*rows, (None, "none")], f"x {kind.ddl}, key string").alias("@w")
    checked = check_expression("SUM(x)", scope, aggregate=True).expression
    total = functions.expr(compile_sql(checked, run=RUN)).alias("total")
    found = dict(frame.groupBy("key").agg(total).collect())
    with localcontext(prec=60):
        for key in dict.fromkeys(key for _, key in rows):
            held = [value for value, other in rows if other == key and value is not None]
            assert found[key] == (sum(held) if held else None), key
    assert found["none"] is None


@pytest.mark.parametrize(
    ("values", "total"), [([2**63 - 1, -(2**63), 2**63 - 1, 5], 2**63 + 3), ([2**63 - 1, 1, -9], 2**63 - 9)]
)
def test_only_the_total_of_integers_must_fit(spark, values, total):
    frame = spark.createDataFrame([(value,) for value in values], "i bigint").alias("@w")
    checked = check_expression("SUM(i)", SCOPE, aggregate=True).expression
    compiled = frame.selectExpr(f"{compile_sql(checked, run=RUN, mark='1:x')} AS total")
    if total < 2**63:
        assert compiled.collect() == [(total,)]
    else:
        with pytest.raises(PySparkException, match="CAST_OVERFLOW"):
            compiled.collect()


def test_quotient_just_below_a_tie_is_rounded_down(spark):
    left, right = Decimal("0.499999"), Decimal("99999900000001.000001")
    scope = Scope(Relation("t", "working", {"a": ScopeColumn(TYPES["a"]), "b": ScopeColumn(TYPES["b"])}))
    checked = check_expression("a / b", scope).expression
    rng = random.Random(1)
    rows = [(left, right)]
    for _ in range(300):
        divisor = rng.randrange(10**19 + 1, 10**20, 2)
        tie = 2 * rng.randrange(1, 10**9) + 1
        dividend = tie * divisor // (2 * 10**4)
        rows += [(Decimal(dividend + step).scaleb(-6), Decimal(divisor).scaleb(-6)) for step in (0, 1)]
    rows = [row for row in rows if abs(row[0]) < 10**14]
    frame = spark.createDataFrame(rows, "a decimal(20,6), b decimal(20,6)").alias("@w")
    found = frame.selectExpr(f"{compile_sql(checked, run=RUN)} AS q").collect()
    for (a, b), row in zip(rows, found, strict=True):
        assert row.q == evaluate(checked, {(None, "a"): a, (None, "b"): b}, run=RUN)


@pytest.mark.parametrize("text", ["a / b", "a / w", "w / w", "i / w"])
def test_quotient_has_the_type_that_the_checker_says(spark, text):
    checked = check_expression(text, SCOPE).expression
    columns = ", ".join(f"{name} {TYPES[name].ddl}" for name in "abwi")
    frame = spark.createDataFrame([], columns).alias("@w").selectExpr(f"{compile_sql(checked, run=RUN)} AS q")
    assert frame.schema["q"].dataType.simpleString() == checked.type.ddl


@pytest.mark.parametrize(
    "text", ["i + j", "i * j", "-i", "a * b * 100000", "w * w", "DATEADD(d, i)", "LEN(s) / 0.5 * w * w"]
)
def test_overflow_names_its_mark(spark, text):
    schema = ", ".join(f"{name} {kind.ddl}" for name, kind in TYPES.items())
    big = Decimal("99999999999999.999999")
    row = (
        big,
        big,
        big / 10**6,
        Decimal(10) ** 27,
        -(2**63),
        -(2**63),
        "s",
        "u",
        date(2026, 1, 1),
        date(2026, 1, 1),
        True,
        True,
    )
    frame = spark.createDataFrame([row], schema).alias("@w")
    checked = check_expression(text, SCOPE).expression
    sql = compile_sql(checked, run=RUN, mark="10:assignments[0]", target=None)
    with pytest.raises(PySparkException) as caught:
        frame.selectExpr(f"{sql} AS x").collect()
    fragments = [context.fragment() for context in caught.value.getQueryContext()]
    assert any("/*@10:assignments[0]*/" in fragment for fragment in fragments), (fragments, str(caught.value)[:500])


def make_long_and_deep_texts() -> list[str]:
    texts = ["+".join(["i"] * 3000), " AND ".join(["ok"] * 3000), "IF(ok, 1, " * 190 + "0" + ")" * 190]
    texts += ["(" * 200 + "i" + ")" * 200, "MIN(i, MAX(7, " * 99 + "i" + "))" * 99, "NOT " * 199 + "ok"]
    texts += [f"{opening}" * 199 + "i" + ")" * 199 for opening in ("ABS(", "-(", "MOD(i, ", "COALESCE(i, ", "MIN(1, ")]
    texts += ["CONCAT('a', " * 199 + "'b'" + ")" * 199, "ROUND(i / (" * 49 + "i" + "), 2)" * 49]
    texts += ["DATEADD(" * 99 + 'DATE("2026-01-31")' + ", 1)" * 99, "ROUND((" * 49 + "i" + ") / i, 2)" * 49]
    texts += ["CASE WHEN ok THEN " * 199 + "i" + " END" * 199, "CASE i WHEN " * 199 + "i" + " THEN 1 END" * 199]
    texts += ["CASE (" * 5 + "i" + ") WHEN 1 THEN 2 WHEN 3 THEN 4 END" * 5, "SIGN(" * 40 + "i" + ")" * 40]
    texts += ["ADDMONTHS(" * 40 + 'DATE("2026-01-31")' + ", 1)" * 40, "NULLIF(" * 40 + "i" + ", 1)" * 40]
    texts += ["PAD_LEFT(" * 40 + "'a'" + ", i, 'x')" * 40, "ROUNDUP(0.1 * " * 33 + "i" + ", 1)" * 33]
    texts += ["SUBSTRING(" * 199 + "'a'" + ", i + 0, 2)" * 199]
    texts += ["MONTHS_BETWEEN(TODAY(), ADDMONTHS(TODAY(), " * 20 + "i" + "))" * 20]
    texts += ["MAX(i, COALESCE(" * 15 + "i" + ", i))" * 15]
    return texts


def test_long_and_deep_expressions_are_parsed_by_spark(spark):
    frame = spark.createDataFrame([(1, True)], "i bigint, ok boolean").alias("@w")
    frames = [frame.selectExpr(compile_checked(text)) for text in make_long_and_deep_texts()]
    assert [frames[index].collect()[0][0] is None for index in (3, 6)] == [False, False]


@pytest.mark.chaos
def test_long_and_deep_expressions_are_computed_by_spark(spark):
    frame = spark.createDataFrame([(1, True)], "i bigint, ok boolean").alias("@w")
    for text in make_long_and_deep_texts():
        assert frame.selectExpr(compile_checked(text)).collect(), text[:20]


def compile_checked(text: str) -> str:
    checked = check_expression(text, SCOPE).expression
    assert checked is not None, text[:20]
    return f"{compile_sql(checked, run=RUN, mark='1:x')} AS x"
