"""Group functions on random rows: the same as in Python, whatever the partitioning, and parts that add up."""

import random
from collections import defaultdict
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_UP, Context, Decimal

import pytest

from airflow_provider_runtime.core.expr.checker import check_expression
from airflow_provider_runtime.core.expr.run_constants import RunConstants
from airflow_provider_runtime.core.expr.scope import Relation, Scope, ScopeColumn
from airflow_provider_runtime.core.expr.spark_sql import compile_assignment
from airflow_provider_runtime.core.model.schema import INTEGER, STRING, make_decimal
from spark_jobs.contract.sql import TOUCHED_COLUMN

pytestmark = pytest.mark.spark
RUN = RunConstants(datetime(2026, 2, 1, tzinfo=UTC), "2026-01", date(2026, 1, 1), date(2026, 1, 31))
TYPES = {
    "_row_id": STRING, "k": STRING, "x": make_decimal(20, 6), "w": make_decimal(20, 6), "o": INTEGER,
}  # fmt: skip
SCOPE = Scope(Relation("t", "working", {name: ScopeColumn(kind) for name, kind in TYPES.items()}), allows_groups=True)
EXACT = Context(prec=200, rounding=ROUND_HALF_UP)
TEXTS = {
    "total": "TOTAL(x BY k)",
    "share": "SHARE(x BY k)",
    "rank": "RANK(x DESC BY k)",
    "running": "RUNNING(x ORDER o BY k)",
    "previous": "PREVIOUS_VALUE(x ORDER o DESC BY k)",
    "part": "ALLOCATE(-1234.57, w BY k)",
    "wide": 'ALLOCATE(NUMBER("-1234.57", 30, 2), w BY k)',
    "letters": 'ALLOCATE(LEN(COALESCE(k, "none")) * 10, w BY k)',
}


def make_rows(rng, count):
    rows = []
    for number in range(count):
        x = None if rng.random() < 0.1 else Decimal(rng.randint(-(10**9), 10**9)).scaleb(-6)
        w = None if rng.random() < 0.1 else Decimal(rng.choice([0, 1, 1, 3, rng.randint(0, 10**12)])).scaleb(-6)
        row = (f"{rng.random():.15f}-{number}", rng.choice(["a", "b", None]), x, w, rng.choice([None, 1, 2, 3, 4]))
        rows.append(dict(zip(TYPES, row, strict=True)) | {"touched": rng.random() < 0.7})
    return rows


def sum_known(values):
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def sort_rows(rows, name, *, descending=False):
    by_id = sorted(rows, key=lambda row: row["_row_id"])
    known = sorted([r for r in by_id if r[name] is not None], key=lambda r: r[name], reverse=descending)
    return known + [row for row in by_id if row[name] is None]


def allocate(amount, rows, scale=2):
    units, total = int(abs(amount).scaleb(scale)), sum(row["w"] or 0 for row in rows)
    parts = {
        row["_row_id"]: int(EXACT.divide_int(EXACT.multiply(units, row["w"] or Decimal(0)), total)) for row in rows
    }
    rests = {row["_row_id"]: EXACT.remainder(EXACT.multiply(units, row["w"] or Decimal(0)), total) for row in rows}
    for row_id in sorted(sorted(parts), key=lambda name: -rests[name])[: units - sum(parts.values())]:
        parts[row_id] += 1
    sign = -1 if amount < 0 else 1
    return {row_id: Decimal(sign * part).scaleb(-scale) for row_id, part in parts.items()}


def expect(rows):
    found = defaultdict(dict)
    for key in {row["k"] for row in rows}:
        group = [row for row in rows if row["touched"] and row["k"] == key]
        total = sum_known([row["x"] for row in group])
        parts = allocate(Decimal("-1234.57"), group) if group else {}
        letters = allocate(Decimal(10 * len(key or "none")), group, 0) if group else {}
        ordered, back = sort_rows(group, "o"), sort_rows(group, "o", descending=True)
        for row in group:
            x, known = row["x"], [other["x"] for other in group if other["x"] is not None]
            place = ordered.index(row)
            share = (
                EXACT.divide(x, total).quantize(Decimal("1e-10"), context=EXACT) if x is not None and total else None
            )
            before = back.index(row)
            found[row["_row_id"]] = {
                "total": total,
                "share": share,
                "rank": None if x is None else 1 + sum(other > x for other in known),
                "running": sum_known([other["x"] for other in ordered[: place + 1]]),
                "previous": back[before - 1]["x"] if before else None,
                "part": parts[row["_row_id"]],
                "wide": parts[row["_row_id"]],
                "letters": letters[row["_row_id"]],
            }
    return found


@pytest.mark.parametrize(("seed", "partitions"), [(1, 1), (2, 3)])
def test_group_functions_agree_with_python(spark, seed, partitions):
    rows = make_rows(random.Random(seed), 120)
    schema = ", ".join([*(f"{name} {kind.ddl}" for name, kind in TYPES.items()), f"`{TOUCHED_COLUMN}` boolean"])
    frame = spark.createDataFrame([tuple(row.values()) for row in rows], schema).repartition(partitions)
    columns = []
    steps = defaultdict(list)
    for name, text in TEXTS.items():
        result = check_expression(text, SCOPE)
        assert result.expression is not None, result.problems
        sql, made = compile_assignment(
            result.expression, run=RUN, target=result.expression.type, mark="10:x", prefix=name
        )
        columns.append(f"IF(`@w`.`{TOUCHED_COLUMN}`, {sql}, NULL) AS {name}")
        for step, added in enumerate(made):
            steps[step] += [f"{column.sql} AS `{column.column}`" for column in added]
    for step in sorted(steps):
        frame = frame.alias("@w").selectExpr("*", *steps[step])
    found = frame.alias("@w").selectExpr("_row_id", *columns).collect()
    expected = expect(rows)
    for row in found:
        values = {name: getattr(row, name) for name in TEXTS}
        assert values == expected.get(row["_row_id"], dict.fromkeys(TEXTS)), row["_row_id"]
    for key in ("a", "b", None):
        ids = {row["_row_id"] for row in rows if row["touched"] and row["k"] == key}
        assert sum(row.part for row in found if row["_row_id"] in ids) == Decimal("-1234.57")


def test_group_functions_over_the_same_keys_share_one_shuffle(spark):
    scope = replace(SCOPE, allows_groups=True)
    frame = spark.createDataFrame(
        [("1", "a", 1, 1, 1, True)], "_row_id string, k string, x int, w int, o int, t boolean"
    )
    frame = frame.selectExpr(
        "_row_id", "k", "CAST(x AS decimal(20,6)) x", "CAST(w AS decimal(20,6)) w", "CAST(o AS bigint) o",
        f"t AS `{TOUCHED_COLUMN}`",
    )  # fmt: skip
    for name, text in TEXTS.items():
        checked = check_expression(text, scope).expression
        for step in compile_assignment(checked, run=RUN, target=checked.type, mark="10:x", prefix=name)[1]:
            frame = frame.alias("@w").selectExpr("*", *[f"{column.sql} AS `{column.column}`" for column in step])
    plan = frame._jdf.queryExecution().executedPlan().toString()
    assert plan.count("Exchange hashpartitioning") == 1, plan
