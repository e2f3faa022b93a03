"""Finds the rows for which a join has more than one match, or a required join none."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import functions

from spark_jobs.contract.sql import WORKING, name_alias, quote_name
from spark_jobs.errors import JobError, shorten
from spark_jobs.rows.joins import JoinCheck, join_plainly

MOST_KEYS = 20


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


def find_missing_matches(checks: Iterable[JoinCheck]) -> JobError | None:
    """Return the error for the first required join that finds nothing for a touched row, with the commonest keys."""
    for check in checks:
        if check.join.required and (keys := _count_missing(check)):
            rows, found = sum(count for count, _ in keys), keys[:MOST_KEYS]
            listed = "; ".join(f"{_describe(key)} ({count} row{'s' * (count != 1)})" for count, key in found)
            rest = ", and others" if len(keys) > MOST_KEYS else ""
            counted = "more than " * bool(rest) + f"{rows} row{'s' * (rows != 1)}"
            return JobError(
                "JOIN_011",
                f"no match for '{check.join.alias}' in operation {check.seq}, {counted}: {listed}{rest}",
                hint="add the missing rows, or let the join have a `default` in place of `required`",
                mark=check.join.mark,
            )
    return None


def _count_missing(check: JoinCheck) -> list[tuple[int, dict[str, object]]]:
    """Return the commonest keys of touched rows without a match, one more than are named."""
    join = check.join
    alias = quote_name(name_alias(join.alias))
    touched = check.frame.alias(WORKING).where(check.touched).alias(WORKING)
    keys = [functions.expr(f"CAST(`@w`.{quote_name(name)} AS string)").alias(name) for name in join.key]
    found = (
        join_plainly(touched, join, check.side)
        .alias(WORKING)
        .where(f"{alias} IS NULL AND {check.picked}")
        .groupBy(*keys)
        .agg(functions.expr("count(1)").alias("@n"))
        .where("`@n` > 0")
        .orderBy(functions.desc("@n"), *join.key)
        .limit(MOST_KEYS + 1)
        .collect()
    )
    return [(row["@n"], {name: row[name] for name in join.key}) for row in found]


def _find_row(check: JoinCheck) -> dict[str, object] | None:
    join = check.join
    touched = check.frame.alias(WORKING).where(check.touched).alias(WORKING)
    keys = [functions.expr(f"CAST(`@w`.{quote_name(name)} AS string)").alias(name) for name in join.key]
    found = (
        join_plainly(touched, join, check.side)
        .alias(WORKING)
        .where(f"{quote_name(name_alias(join.alias))} IS NOT NULL")
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
