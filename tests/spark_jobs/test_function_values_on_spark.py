"""Every function of the language gives the same in Spark and in Python."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from airflow_provider_runtime.core.expr import Relation, Scope, ScopeColumn, check_expression, compile_sql, evaluate
from airflow_provider_runtime.core.expr.functions import FUNCTIONS
from airflow_provider_runtime.core.model.schema import BOOLEAN, DATE, INTEGER, STRING, make_decimal

pytestmark = pytest.mark.spark
NOW = datetime(2026, 2, 1, tzinfo=UTC)
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
    texts = [function.example for function in FUNCTIONS.values() if not function.is_aggregate]
    checked = [check_expression(text, SCOPE).expression for text in texts]
    schema = ", ".join(f"{name} {kind.ddl}" for name, kind in TYPES.items())
    frame = spark.createDataFrame(ROWS, schema).alias("@w")
    columns = [f"{compile_sql(one, run_timestamp=NOW, mark='m')} AS c{at}" for at, one in enumerate(checked)]
    # A timestamp that is collected is a local one without a zone: the session's zone is UTC.
    found = [list(row) for row in frame.selectExpr(*columns).collect()]
    for row, values in zip(ROWS, found, strict=True):
        named = {(None, name): value for name, value in zip(TYPES, row, strict=True)}
        for text, one, value in zip(texts, checked, values, strict=True):
            expected = evaluate(one, named, run_timestamp=NOW)
            expected = expected.replace(tzinfo=None) if isinstance(expected, datetime) else expected
            assert value == expected, (text, row)
