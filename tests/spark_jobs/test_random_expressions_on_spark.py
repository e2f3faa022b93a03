"""Random expressions of all functions of rows: the same on Spark and in Python, to the last digit."""

import random
import re
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from airflow_provider_runtime.core.errors import DataError
from airflow_provider_runtime.core.expr.checker import check_expression
from airflow_provider_runtime.core.expr.evaluator import evaluate
from airflow_provider_runtime.core.expr.functions import FUNCTIONS
from airflow_provider_runtime.core.expr.run_constants import RunConstants
from airflow_provider_runtime.core.expr.scope import Relation, Scope, ScopeColumn
from airflow_provider_runtime.core.expr.spark_sql import compile_sql
from airflow_provider_runtime.core.model.schema import BOOLEAN, DATE, INTEGER, STRING, make_decimal

pytestmark = pytest.mark.spark
RUN = RunConstants(datetime(2026, 2, 1, tzinfo=UTC), "2026-01", date(2026, 1, 1), date(2026, 1, 31), "2025-12")
TYPES = {
    "amount": make_decimal(12, 3), "rate": make_decimal(9, 6), "count": INTEGER, "code": STRING, "unit": STRING,
    "booked": DATE, "due": DATE, "active": BOOLEAN,
}  # fmt: skip
SCOPE = Scope(Relation("t", "working", {name: ScopeColumn(kind) for name, kind in TYPES.items()}))
SCHEMA = ", ".join(f"{name} {kind.ddl}" for name, kind in TYPES.items())
# {n} a number, {i} a small whole one, {s} a text, {d} a date, {b} a condition, {k} two values of one kind.
FORMS = {
    "n": """
        amount rate count 7 -3 0 2.5 0.005 100.25 NULLIF({n},{n}) ({n}+{n}) ({n}-{n}) (amount*rate)
        ({n}/{n}) (-{n}) ABS({n}) ROUND({n}) ROUND({n},2) ROUNDUP({n},1) ROUNDUP({n}) ROUNDDOWN({n},2)
        ROUND_EVEN({n},2) ROUND_EVEN({n}) FLOOR({n}) CEIL({n}) MOD({n},{n}) MIN({n},{n}) MAX({n},{n},{n})
        IF({b},{n},{n}) COALESCE({n},{n}) SIGN({n}) POWER(rate,2) POWER(count,3) LEN({s}) POSITION({s},{s})
        YEAR({d}) MONTH({d}) DAY({d}) QUARTER({d}) WEEKDAY({d}) DATEDIFF({d},{d}) MONTHS_BETWEEN({d},{d})
        TRY_NUMBER({s},12,2) TRY_INTEGER({s}) NUMBER(TEXT(amount),20,3) INTEGER(TEXT(count)) PERIOD_DAYS()
        CASE_{b}_{n}_{n} CASEOF_{n}_{n}_{n}""",
    "i": "0 1 2 3 -1 count LEN(unit) 40",
    "s": """
        code unit 'a' '' 'A-7' '%_' 'größ' ({s}||{s}) CONCAT({s},{s},{s}) UPPER({s}) LOWER({s}) TRIM({s})
        LEFT({s},{i}) RIGHT({s},{i}) SUBSTRING({s},{i}) SUBSTRING({s},{i},{i}) PAD_LEFT({s},{i},'0')
        PAD_RIGHT({s},{i},'.') REPLACE({s},'a','bb') TEXT({n}) TEXT({d}) TEXT({b}) IF({b},{s},{s})
        COALESCE({s},{s}) NULLIF({s},{s}) PERIOD_ID() PREVIOUS_PERIOD_ID() CASE_{b}_{s}_{s}
        CASEOF_{n}_{n}_{s}""",
    "d": """
        booked due DATE('2024-02-29') DATE(TEXT({d})) TRY_DATE({s}) EOMONTH({d}) EOMONTH({d},{i})
        ADDMONTHS({d},{i}) DATEADD({d},{i}) DATE_TRUNC('month',{d}) DATE_TRUNC('quarter',{d})
        DATE_TRUNC('year',{d}) DATE_TRUNC('week',{d}) PERIOD_START() PERIOD_END() TODAY() IF({b},{d},{d})
        COALESCE({d},{d}) NULLIF({d},{d}) MIN({d},{d}) MAX({d},{d})""",
    "b": """
        active {n}={n} {n}<{n} {n}>={n} {s}<>{s} {d}<={d} {n}_IS_NULL {s}_IS_NOT_NULL ISNULL({d})
        AND({b},{b}) OR({b},{b}) NOT({b}) {s}_LIKE_'%a_' {s}_NOT_LIKE_'A\\%%' CONTAINS({s},{s})
        STARTS_WITH({s},{s}) ENDS_WITH({s},{s}) {n}_IN_(1,2.5,count) {n}_BETWEEN_{n}_AND_{n}
        {s}_NOT_IN_('a',unit) NOW()>=NOW()""",
}
CALLED = re.compile(r"\b([A-Z_]+)\(")


def draw(rng, kind, depth):
    """Return a random expression of a kind."""
    forms = FORMS[kind].split()
    plain = [form for form in forms if "{" not in form]
    form = rng.choice(plain if depth == 0 else forms)
    if form.startswith("CASE_"):
        form = f"CASE WHEN {{b}} THEN {{{kind}}} ELSE {{{kind}}} END"
    elif form.startswith("CASEOF_"):
        form = f"CASE {{n}} WHEN {{n}} THEN {{{kind}}} WHEN 1 THEN {{{kind}}} END"
    elif kind == "b":
        form = f"({form.replace('_IS_NOT_NULL', ' IS NOT NULL').replace('_IS_NULL', ' IS NULL')})"
        for word in ("NOT_LIKE", "LIKE", "NOT_IN", "IN", "BETWEEN", "AND"):
            form = re.sub(rf"(?<=[}}a-z0-9])_{word}_", f" {word.replace('_', ' ')} ", form)
    return re.sub(r"\{(\w)\}", lambda found: draw(rng, found[1], depth - 1 if found[1] != "i" else 0), form)


def make_rows(rng, count):
    texts = ["", " ", "a", "A-7", "größ", "-12.50", "7", "2026-01-31", "🙂a", "%_"]
    rows = []
    for _ in range(count):
        row = (
            Decimal(rng.randint(-(10**9), 10**9)).scaleb(-3),
            Decimal(rng.choice([0, 1, 5, rng.randint(0, 10**9)])).scaleb(-6),
            rng.randint(-5, 50), rng.choice(texts), rng.choice(texts), date(2024, 1, 1).replace(day=rng.randint(1, 31)),
            date(2026, rng.randint(1, 12), rng.randint(1, 28)), rng.random() < 0.5,
        )  # fmt: skip
        rows.append(tuple(None if rng.random() < 0.15 else value for value in row))
    return rows


def check_drawn(rng, rows, count):
    """Return expressions that have a type and a value on every row, with these values."""
    found = []
    while len(found) < count:
        text = draw(rng, rng.choice("nnnsdb"), rng.randint(1, 3))
        result = check_expression(text, SCOPE)
        if result.expression is None:
            assert {problem.code for problem in result.problems} == {"EXPR_004"}, (text, result.problems)
            continue
        named = [{(None, name): value for name, value in zip(TYPES, row, strict=True)} for row in rows]
        try:
            values = [evaluate(result.expression, row, run=RUN) for row in named]
        except DataError:
            continue
        found.append((text, result.expression, values))
    return found


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.chaos) for seed in range(1, 30))])
def test_random_expressions_are_the_same_in_spark_and_in_python(spark, seed):
    rng = random.Random(seed)
    rows = make_rows(rng, 12)
    drawn = check_drawn(rng, rows, 120)
    frame = spark.createDataFrame(rows, SCHEMA).alias("@w")
    columns = [f"{compile_sql(checked, run=RUN, mark='m')} AS c{at}" for at, (_, checked, _) in enumerate(drawn)]
    found = frame.selectExpr(*columns).collect()
    for at, (text, _, values) in enumerate(drawn):
        assert [row[at] for row in found] == values, text


def test_every_function_of_rows_is_drawn():
    named = {name for form in FORMS.values() for name in CALLED.findall(form)}
    rows = {name for name, function in FUNCTIONS.items() if not function.is_aggregate and not function.group_form}
    assert rows - named == set()
