"""Joins that cannot multiply rows, and the rows that an operation touches.

A join is a correlated scalar subquery, which Spark plans as a hash join that fails on a second match: no row is ever
doubled, and no pass is needed to know it. The flag that says whether a row is touched is inside the subquery, so
that doubles which no touched row meets do not matter. The match arrives as one struct named like the alias, so that
`` `@@fx`.`rate` `` means the same in compiled expressions before and after.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions

from spark_jobs.contract.operations import order_joins
from spark_jobs.contract.sql import WORKING, name_alias, quote_name, quote_text
from spark_jobs.errors import raise_sql
from spark_jobs.rows.flags import MATCHED, matched_flag, touched_flag

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_jobs.contract.operations import Join, Operation

DELETED = "`@w`.`_deleted`"
EMPTY_STRUCT_FIELD = "@none"
RIGHT = "@right"
LONGEST_REPEATED_CONDITION = 300
BARRIER = "spark_partition_id() >= 0"
"""Always TRUE, which the optimizer does not know: later filters and projections stay above the join, and do not take
its subquery along, which would join again or, inside the condition of another subquery, leave no valid plan."""


@dataclass(frozen=True, slots=True)
class JoinSide:
    """The right side of a join: a view, the types of its columns, and how to join it."""

    view: str
    types: dict[str, str]
    strategy: str | None
    """BROADCAST or SHUFFLE_HASH."""


@dataclass(frozen=True, slots=True)
class JoinCheck:
    """What is needed to find a row with more than one match after a run has failed."""

    join: Join
    side: JoinSide
    frame: DataFrame
    seq: int
    touched: str
    """SQL over the row: whether it may be touched."""
    picked: str = "TRUE"
    """SQL over the row and a match: whether this match makes the row a touched one."""


@dataclass(frozen=True, slots=True)
class TouchedRows:
    """Rows with the operation's aliases as structs and a flag that says which are touched."""

    frame: DataFrame
    flag: str
    aliases: tuple[str, ...] = ()
    checks: tuple[JoinCheck, ...] = ()
    condition: str | None = None
    """SQL of the flag while the frame does not have it: one projection less for an operation without joins."""

    @property
    def touched(self) -> str:
        """SQL over the row that is TRUE for a touched one."""
        return f"`@w`.{quote_name(self.flag)}" if self.condition is None else f"({self.condition})"

    @property
    def helpers(self) -> tuple[str, ...]:
        """Columns of the frame that only this operation needs."""
        return self.aliases if self.condition is not None else (*self.aliases, self.flag)


def flag_matches(rows: TouchedRows, operation: Operation) -> dict[str, str]:
    """Return the conditions of the flags that count matches; without one no join would be computed for certain."""
    flags, lookups = {}, []
    for join in operation.joins:
        found = f"`@w`.{quote_name(name_alias(join.alias))} IS NOT NULL"
        if join.required:
            missing = raise_sql("JOIN_011", quote_text(f"'{join.alias}' has no match for a row"), mark=join.mark)
            found = f"CASE WHEN {found} THEN TRUE WHEN {rows.touched} THEN {missing} ELSE FALSE END"
        if join.counted or join.required:
            flags[matched_flag(operation.seq, join.alias)] = found
        else:
            lookups.append(found)
    return flags | ({MATCHED: " OR ".join(lookups)} if lookups else {})


def _look_up(join: Join, side: JoinSide, *conditions: str) -> list[str]:
    """Return columns with the match as a struct, one for each way to find it."""
    fields = [f"`@@{join.alias}`.{quote_name(name)} AS {quote_name(name)}" for name in join.columns]
    found = [
        f"SELECT {_hint(join, side)}{_build_struct(fields)} {source}" for source in _list_ways(join, side, conditions)
    ]
    names = _name_ways(join)
    return [f"CASE WHEN {BARRIER} THEN ({sql}) END AS {name}" for sql, name in zip(found, names, strict=True)]


def _take_match(join: Join) -> str:
    """Return SQL of the one match that one of the ways has found."""
    names = _name_ways(join)
    count = " + ".join(f"CAST({name} IS NOT NULL AS int)" for name in names)
    return f"CASE WHEN {count} > 1 THEN {_fail_for_two(join)} ELSE coalesce({', '.join(names)}) END"


def _name_ways(join: Join) -> list[str]:
    name, ways = name_alias(join.alias), len(join.ways)
    return [quote_name(name)] if ways == 1 else [quote_name(f"{name}@{way}") for way in range(ways)]


def _fail_for_two(join: Join) -> str:
    return raise_sql("JOIN_010", "''", mark=join.mark)


def _build_exists(join: Join, side: JoinSide, *conditions: str) -> str:
    """Return SQL that says whether a row has a match for which the conditions hold too."""
    return " OR ".join(f"EXISTS (SELECT {_hint(join, side)}1 {way})" for way in _list_ways(join, side, conditions))


def _hint(join: Join, side: JoinSide) -> str:
    return f"/*+ {side.strategy}(`{RIGHT}`) */ " if side.strategy and join.is_hashed else ""


def _list_ways(join: Join, side: JoinSide, conditions: Sequence[str]) -> list[str]:
    match = f"FROM (SELECT {build_match(join)} AS `@@{join.alias}` FROM {quote_name(side.view)}) AS `{RIGHT}`"
    return [f"{match} WHERE " + " AND ".join([way, *(f"({more})" for more in conditions)]) for way in join.ways]


def build_match(join: Join) -> str:
    """Return SQL of one struct with the alias's columns that anything uses.

    A struct and not the columns themselves: it is new wherever it is used, while the columns of a view are the same
    in each subquery, which confuses Spark when two subqueries over one view meet.
    """
    return _build_struct([quote_name(name) for name in join.match_columns])


def _build_struct(fields: Sequence[str]) -> str:
    return f"struct({', '.join(fields) or f'TRUE AS `{EMPTY_STRUCT_FIELD}`'})"


def find_touched_rows(
    frame: DataFrame, operation: Operation, sides: dict[str, JoinSide], *, see_deleted: bool = False
) -> TouchedRows:
    """Join what the operation joins and flag the rows that its selector picks."""
    alive = "TRUE" if see_deleted else f"NOT {DELETED}"
    flag = touched_flag(operation.seq)
    if not operation.where_aliases:
        condition = alive if operation.where is None else f"{alive} AND ({operation.where})"
        if not operation.joins and len(condition) <= LONGEST_REPEATED_CONDITION:
            return TouchedRows(frame, flag, condition=condition)
        flagged = frame.alias(WORKING).selectExpr("*", f"coalesce({condition}, FALSE) AS {quote_name(flag)}")
        return _join_remaining(flagged, operation, sides, flag)
    join = next(join for join in operation.joins if join.alias == operation.where_aliases[0])
    if len(operation.where_aliases) == 1 and not join.earlier_aliases:
        side = sides[join.alias]
        flagged = _flag_by_one_alias(frame, operation, join, side, alive)
        check = JoinCheck(join, side, frame, operation.seq, alive, f"coalesce({operation.where}, FALSE)")
        return _join_remaining(flagged, operation, sides, flag, check)
    return _join_remaining(_flag_by_many_aliases(frame, operation, sides, alive), operation, sides, flag)


def _flag_by_one_alias(frame: DataFrame, operation: Operation, join: Join, side: JoinSide, alive: str) -> DataFrame:
    """A match that the selector picks, and whether there is another one that it does not pick."""
    column, flag = quote_name(name_alias(join.alias)), quote_name(touched_flag(operation.seq))
    picked = f"coalesce({operation.where}, FALSE)"
    unmatched = frame.alias(WORKING).selectExpr("*", f"{_null_struct(join, side)} AS {column}")
    matched = unmatched.alias(WORKING).selectExpr(
        f"* EXCEPT ({column})",
        f"{alive} AND {picked} AS `@unmatched`",
        f"{_build_exists(join, side, alive, f'NOT {picked}')} AS `@other`",
        *_look_up(join, side, alive, picked),
    )
    return (
        _take_matches(matched, [join])
        .alias(WORKING)
        .selectExpr(
            "* EXCEPT (`@unmatched`, `@other`)",
            f"CASE WHEN {column} IS NULL THEN `@unmatched` AND NOT `@other` "
            f"WHEN `@other` THEN {_fail_for_two(join)} ELSE TRUE END AS {flag}",
        )
    )


def _take_matches(frame: DataFrame, joins: Sequence[Join]) -> DataFrame:
    """Put one column for an alias where each way to find its match has left one."""
    several = [join for join in joins if len(join.ways) > 1]
    if not several:
        return frame
    found = ", ".join(name for join in several for name in _name_ways(join))
    matches = [f"{_take_match(join)} AS {quote_name(name_alias(join.alias))}" for join in several]
    return frame.selectExpr(f"* EXCEPT ({found})", *matches)


def _flag_by_many_aliases(frame: DataFrame, operation: Operation, sides: dict[str, JoinSide], alive: str) -> DataFrame:
    """Join plainly, see which row ids the selector picks, and look those up."""
    joined = frame.alias(WORKING).where(alive)
    needed = [join for join in operation.joins if join.alias in _close_over(operation)]
    for join in needed:
        joined = join_plainly(joined, join, sides[join.alias])
    picked = joined.alias(WORKING).where(f"coalesce({operation.where}, FALSE)").selectExpr("`@w`.`_row_id` AS `@id`")
    flag = quote_name(touched_flag(operation.seq))
    marked = picked.distinct().selectExpr("`@id`", f"TRUE AS {flag}")
    rows = frame.join(marked, frame["_row_id"] == marked["@id"], "left")
    return rows.selectExpr(f"* EXCEPT (`@id`, {flag})", f"coalesce({flag}, FALSE) AS {flag}")


def _close_over(operation: Operation) -> set[str]:
    """Return the aliases that the selector needs: those it names, and those their conditions name."""
    needed = set(operation.where_aliases)
    for join in reversed(operation.joins):
        if join.alias in needed:
            needed |= join.earlier_aliases
    return needed


def join_plainly(frame: DataFrame, join: Join, side: JoinSide) -> DataFrame:
    """Return a row for every match, maybe more than once when there are several, and one for a row without any."""
    column, names = quote_name(name_alias(join.alias)), _name_ways(join)
    right = frame.sparkSession.table(quote_name(side.view)).selectExpr(f"{build_match(join)} AS {column}")
    for way, name in zip(join.ways, names, strict=True):
        found = right.selectExpr(f"{column}", f"{column} AS {name}") if name != column else right
        joined = frame.alias(WORKING).join(found, functions.expr(way), "left")
        frame = joined.selectExpr("`@w`.*", name)
    if len(names) == 1:
        return frame
    matches = f"filter(array({', '.join(names)}), match -> match IS NOT NULL)"
    return frame.selectExpr(f"* EXCEPT ({', '.join(names)})", f"explode_outer({matches}) AS {column}")


def _null_struct(join: Join, side: JoinSide) -> str:
    fields = ", ".join(f"{quote_name(name)}: {side.types[name]}" for name in join.columns)
    return f"CAST(NULL AS struct<{fields or '`@none`: boolean'}>)"


def _join_remaining(
    frame: DataFrame, operation: Operation, sides: dict[str, JoinSide], flag: str, done: JoinCheck | None = None
) -> TouchedRows:
    """Join what is left: together what is independent, after the others what uses an earlier alias."""
    waiting = [join for join in operation.joins if done is None or join is not done.join]
    checks = [] if done is None else [done]
    touched = f"`@w`.{quote_name(flag)}"
    for ready in order_joins(waiting):
        checks += [JoinCheck(join, sides[join.alias], frame, operation.seq, touched) for join in ready]
        lookups = [column for join in ready for column in _look_up(join, sides[join.alias], touched)]
        frame = _take_matches(frame.alias(WORKING).selectExpr("*", *lookups), ready)
    return TouchedRows(frame, flag, tuple(name_alias(join.alias) for join in operation.joins), tuple(checks))
