"""After a join has found more than one match: which row it was."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import functions

from spark_jobs.contract.sql import WORKING, name_alias, quote_name
from spark_jobs.errors import JobError, shorten
from spark_jobs.rows.joins import JoinCheck, build_match


def find_double_match(checks: Iterable[JoinCheck]) -> JobError | None:
    """Return the error for the first touched row with two matches, in the order of operations and joins."""
    for check in checks:
        row = _find_row(check)
        if row is not None:
            return JobError(
                "JOIN_010",
                f"more than one match for '{check.join.alias}' in operation {check.seq}: {_describe(row)}",
                hint="make the joined rows unique for these columns, or narrow the condition",
                mark=check.join.mark,
            )
    return None


def _find_row(check: JoinCheck) -> dict[str, object] | None:
    join = check.join
    spark = check.frame.sparkSession
    match = f"{build_match(join)} AS {quote_name(name_alias(join.alias))}"
    right = spark.table(quote_name(check.side.view)).selectExpr(match)
    touched = check.frame.alias(WORKING).where(check.touched).alias(WORKING)
    keys = [functions.expr(f"CAST(`@w`.{quote_name(name)} AS string)").alias(name) for name in join.key]
    found = (
        touched.join(right, functions.expr(join.condition), "inner")
        .select(functions.expr("`@w`.`_row_id`").alias("@id"), functions.expr(check.picked).alias("@picked"), *keys)
        .groupBy("@id")
        .agg(
            functions.expr("count(1)").alias("@n"),
            functions.expr("bool_or(`@picked`)").alias("@any"),
            *[functions.max(name).alias(name) for name in join.key],
        )
        .where("`@n` > 1 AND `@any`")
        .orderBy("@id")
        .first()
    )
    return None if found is None else {name: found[name] for name in join.key}


def _describe(row: dict[str, object]) -> str:
    if not row:
        return "its condition names no column of the row"
    return ", ".join(f"{name} = {'NULL' if value is None else shorten(str(value), 80)}" for name, value in row.items())
