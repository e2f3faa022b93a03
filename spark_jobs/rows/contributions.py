"""What the groups of an aggregate, or of an append, are made of: how many rows, and the largest contributions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import Observation, functions

from spark_jobs.contract.sql import WORKING, quote_name, write_literal
from spark_jobs.contract.why import MOST_CONTRIBUTIONS, Condition, Contribution, Group, Term
from spark_jobs.rows.working import read_metrics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_jobs.contract.comparison import Values


def match_keys(names: Sequence[str], types: Mapping[str, str], keys: Sequence[Values]) -> tuple[Condition, ...]:
    """Return the conditions that rows of one of the groups fulfil: of each column, and of all together."""

    def match(key: Values, names: Sequence[str]) -> str:
        return " AND ".join(f"`@w`.{quote_name(name)} <=> {write_literal(key[name], types[name])}" for name in names)

    sets = [(name,) for name in names] + ([tuple(names)] if len(names) > 1 else [])
    return tuple(
        Condition(" OR ".join(dict.fromkeys(f"({match(key, found)})" for key in keys)), frozenset(found))
        for found in sets
    )


def sum_up(
    rows: DataFrame,
    names: Sequence[str],
    types: Mapping[str, str],
    keys: Sequence[Values],
    terms: Sequence[Term],
    row_id: str,
) -> list[Group]:
    """Count the rows of each group, and find the largest contributions, in one action."""
    for condition in match_keys(names, types, keys):
        rows = rows.alias(WORKING).where(condition.sql)
    group = " ".join(
        f"WHEN {' AND '.join(f'`@w`.{quote_name(n)} <=> {write_literal(key[n], types[n])}' for n in names) or 'TRUE'}"
        f" THEN {index}"
        for index, key in enumerate(keys)
    )
    values = [
        f"named_struct('term', {index}, 'value', CAST({term.sql} AS string), 'size', abs(CAST({term.sql} AS double)))"
        for index, term in enumerate(terms)
    ]
    numbered = rows.alias(WORKING).selectExpr(
        f"CASE {group} END AS `@group`", f"{row_id} AS `@id`", f"array({', '.join(values)}) AS `@terms`"
    )
    counted = Observation("why_groups")
    counts = [functions.expr(f"count_if(`@group` = {index})").alias(f"g{index}") for index in range(len(keys))]
    observed = numbered.observe(counted, *counts)
    if not terms:
        observed.write.format("noop").mode("overwrite").save()
        largest = []
    else:
        place = "row_number() OVER (PARTITION BY `@group`, term ORDER BY size DESC, `@id`, value) AS place"
        exploded = observed.selectExpr("`@group`", "`@id`", "inline(`@terms`)").where("value IS NOT NULL")
        ranked = exploded.selectExpr("*", place).where(f"place <= {MOST_CONTRIBUTIONS}")
        largest = ranked.orderBy("`@group`", "term", "place").collect()
    found = read_metrics(counted) or {}
    return [
        Group(
            key,
            int(found.get(f"g{index}") or 0),
            tuple(
                Contribution(terms[row["term"]].column, row["@id"], row["value"])
                for row in largest
                if row["@group"] == index
            ),
        )
        for index, key in enumerate(keys)
    ]
