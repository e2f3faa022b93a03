"""Rows before and after: one look at each side, then one outer join on the columns that differ.

The first look sums numbers, and hashes of each column together with the key: columns whose hashes agree hold the same
values on the same rows, and stay out of the join. Without a key, or where it is not unique, rows are compared as a
multiset.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pyspark.sql import Observation, functions

from spark_jobs.checks.values import NUMBERS, write_value
from spark_jobs.contract.comparison import ColumnComparison, OutputComparison, RowChange
from spark_jobs.contract.sql import quote_name
from spark_jobs.contract.system_columns import SYSTEM_TYPES
from spark_jobs.rows.working import read_metrics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_jobs.contract.operations import OutputOperation
    from spark_jobs.contract.tables import Column

BEFORE, AFTER = "@before", "@after"
HASH_PARTS = 3
_names = iter(range(2**31))


@dataclass(frozen=True, slots=True)
class _Side:
    """The result of one look at the rows of a side."""

    rows: int
    content: tuple[Any, ...]
    """Hash of all rows as they are, whatever their order."""
    totals: Mapping[str, Decimal | None]
    hashes: Mapping[str, tuple[Any, ...]]


def compare_rows(
    operation: OutputOperation, before: DataFrame | None, after: DataFrame, key: Sequence[str], samples: int
) -> OutputComparison:
    """Return what differs between the rows that are published, None when there are none, and those that are staged."""
    columns = [column for column in operation.columns if column.name not in SYSTEM_TYPES]
    after = _write_moments(after, columns)
    known = after.where("FALSE") if before is None else _write_moments(before, columns)
    # What one look waits for, planning or a core, the other one uses.
    with ThreadPoolExecutor(2) as pool:
        old, new = pool.map(lambda side: _look(side, columns, key), (known, after))
    made = _Compared(operation, columns, tuple(key), old, new)
    if (old.rows, old.content) == (new.rows, new.content):
        return made.describe()
    if key:
        differing = [name for name, hashed in old.hashes.items() if hashed != new.hashes[name]]
        found = _compare_by_key(known, after, differing, key, samples)
        if (found.rows_before, found.rows_after) == (old.rows, new.rows):
            return made.describe(found)
    return made.without_key().describe(_compare_as_multiset(known, after, columns, samples))


def describe_equal_rows(operation: OutputOperation, rows: DataFrame, key: Sequence[str]) -> OutputComparison:
    """Return the comparison of rows that are known to be the same: one look at one side, for its totals."""
    columns = [column for column in operation.columns if column.name not in SYSTEM_TYPES]
    side = _look(rows, columns, key, hashes=False)
    return _Compared(operation, columns, tuple(key), side, side).describe()


@dataclass(frozen=True, slots=True)
class _Found:
    """What a join, or the counting of equal rows, has found."""

    rows_before: int = 0
    rows_after: int = 0
    added: int = 0
    removed: int = 0
    changed: int = 0
    changed_columns: Mapping[str, int] | None = None
    sample: tuple[RowChange, ...] = ()


@dataclass(frozen=True, slots=True)
class _Compared:
    operation: OutputOperation
    columns: Sequence[Column]
    key: tuple[str, ...]
    old: _Side
    new: _Side

    def without_key(self) -> _Compared:
        """Return the same, compared as a multiset."""
        return _Compared(self.operation, self.columns, (), self.old, self.new)

    def describe(self, found: _Found | None = None) -> OutputComparison:
        """Return the comparison as a report has it."""
        found = found or _Found()
        changes = found.changed_columns or {}
        return OutputComparison(
            seq=self.operation.seq,
            destination=self.operation.destination.display,
            key=self.key,
            rows_before=self.old.rows,
            rows_after=self.new.rows,
            added=found.added,
            removed=found.removed,
            changed=found.changed,
            same=self.new.rows - found.added - found.changed,
            columns=tuple(self._describe_column(column.name, changes.get(column.name, 0)) for column in self.columns),
            sample=found.sample,
        )

    def _describe_column(self, name: str, changed: int) -> ColumnComparison:
        if name not in self.old.totals:
            return ColumnComparison(name, changed)
        before, after = self.old.totals[name], self.new.totals[name]
        difference = (after or Decimal(0)) - (before or Decimal(0))
        return ColumnComparison(name, changed, write_value(before), write_value(after), write_value(difference))


def _write_moments(frame: DataFrame, columns: Sequence[Column]) -> DataFrame:
    """Return the compared columns, timestamps as text: fetched, they would pass through the driver's time zone."""
    written = {
        column.name: f"date_format({quote_name(column.name)}, \"yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX\")"
        for column in columns
        if column.type == "timestamp"
    }
    names = [column.name for column in columns]
    return frame.selectExpr(*(f"{written.get(name, quote_name(name))} AS {quote_name(name)}" for name in names))


def _look(frame: DataFrame, columns: Sequence[Column], key: Sequence[str], *, hashes: bool = True) -> _Side:
    """Count rows and sum numbers; hash rows, and columns each with the key of its row, where that is asked for."""
    numbers = [column for column in columns if column.type.startswith(NUMBERS)]
    aggregates = ["count(1)", *(f"sum({_widen(column)})" for column in numbers)]
    # Without a key, rows are compared as a whole.
    keyed = [column.name for column in columns if column.name not in key] if hashes and key else []
    if hashes:
        aggregates += _combine(_hash([column.name for column in columns]))
    if keyed:
        frame = frame.selectExpr("*", f"{_hash(key)} AS `@key`")
        aggregates += [sql for name in keyed for sql in _combine(_hash(["@key", name]))]
    row = frame.selectExpr(*(f"{sql} AS `@{index}`" for index, sql in enumerate(aggregates))).first()
    assert row is not None
    first = 1 + len(numbers)
    content, *hashed = [tuple(row[i : i + HASH_PARTS]) for i in range(first, len(aggregates), HASH_PARTS)] or [()]
    return _Side(
        rows=row[0],
        totals={column.name: _to_decimal(row[1 + index]) for index, column in enumerate(numbers)},
        content=content,
        hashes=dict(zip(keyed, hashed, strict=True)),
    )


def _hash(names: Sequence[str]) -> str:
    # NULL is hashed as nothing at all, so that which values are NULL is hashed too.
    return f"xxhash64({', '.join(f'{quote_name(name)}, {quote_name(name)} IS NULL' for name in names)})"


def _combine(hashed: str) -> list[str]:
    """Return the exact sum of the hashes of many rows, in three parts that are too large only beyond 10^12 rows."""
    return [f"sum(shiftright({hashed}, {bits}) & {2**22 - 1})" for bits in (0, 22, 44)]


def _widen(column: Column) -> str:
    name = quote_name(column.name)
    return f"CAST({name} AS decimal(38,0))" if column.type == "bigint" else name


def _to_decimal(value: Any) -> Decimal | None:
    return None if value is None else Decimal(value)


def _compare_by_key(
    before: DataFrame,
    after: DataFrame,
    compared: Sequence[str],
    key: Sequence[str],
    samples: int,
) -> _Found:
    sides = [_pack(frame, key, compared, side) for frame, side in ((before, BEFORE), (after, AFTER))]
    # NULL is a key like any other.
    condition = " AND ".join(f"l.{quote_name(f'@l{i}')} <=> r.{quote_name(f'@r{i}')}" for i in range(len(key)))
    left = sides[0].withColumnsRenamed({f"@k{i}": f"@l{i}" for i in range(len(key))}).alias("l")
    right = sides[1].withColumnsRenamed({f"@k{i}": f"@r{i}" for i in range(len(key))}).alias("r")
    joined = left.join(right, functions.expr(condition), "full_outer")
    both = f"`{BEFORE}` IS NOT NULL AND `{AFTER}` IS NOT NULL"
    different = [f"NOT (`{BEFORE}`.{quote_name(name)} <=> `{AFTER}`.{quote_name(name)})" for name in compared]
    any_different = " OR ".join(different) or "FALSE"
    kind = (
        f"CASE WHEN `{BEFORE}` IS NULL THEN 'added' WHEN `{AFTER}` IS NULL THEN 'removed'"
        f" WHEN {any_different} THEN 'changed' ELSE 'same' END AS `@kind`"
    )
    keys = [f"coalesce(`@l{i}`, `@r{i}`) AS `@k{i}`" for i in range(len(key))]
    rows = joined.selectExpr(*keys, f"`{BEFORE}`", f"`{AFTER}`", kind)
    metrics = {
        "rows_before": f"count(`{BEFORE}`)",
        "rows_after": f"count(`{AFTER}`)",
        **{name: f"count_if(`@kind` = '{name}')" for name in ("added", "removed", "changed")},
        **{f"c{i}": f"count_if({both} AND {sql})" for i, sql in enumerate(different)},
    }
    counts, sample = _take(rows, metrics, [f"@k{i}" for i in range(len(key))], samples)
    shown = tuple(_make_change(row, key, compared) for row in sample)
    return _Found(
        rows_before=counts["rows_before"],
        rows_after=counts["rows_after"],
        added=counts["added"],
        removed=counts["removed"],
        changed=counts["changed"],
        changed_columns={name: counts[f"c{i}"] for i, name in enumerate(compared)},
        sample=shown,
    )


def _pack(frame: DataFrame, key: Sequence[str], compared: Sequence[str], side: str) -> DataFrame:
    """Return the keys and one struct of the values that are compared; the struct of a row is never NULL."""
    keys = [f"{quote_name(name)} AS `@k{i}`" for i, name in enumerate(key)]
    values = ", ".join(quote_name(name) for name in compared)
    return frame.selectExpr(*keys, f"struct({values or 'TRUE'}) AS `{side}`")


def _compare_as_multiset(before: DataFrame, after: DataFrame, columns: Sequence[Column], samples: int) -> _Found:
    names = [column.name for column in columns]
    quoted = [quote_name(name) for name in names]
    sides = [frame.selectExpr(*quoted, f"{sign}L AS `@n`") for frame, sign in ((before, -1), (after, 1))]
    groups = sides[0].unionByName(sides[1]).groupBy(*quoted).agg(functions.expr("sum(`@n`)").alias("@n"))
    rows = groups.where("`@n` <> 0").selectExpr("*", "IF(`@n` > 0, 'added', 'removed') AS `@kind`")
    metrics = {"added": "sum(IF(`@n` > 0, `@n`, 0L))", "removed": "sum(IF(`@n` < 0, -`@n`, 0L))"}
    counts, sample = _take(rows, metrics, names, samples)
    shown = []
    for row in sample:
        values = {name: _write(row[name]) for name in names}
        is_added = row["@kind"] == "added"
        shown.append(RowChange(row["@kind"], {}, None if is_added else values, values if is_added else None))
    return _Found(added=counts["added"], removed=counts["removed"], sample=tuple(shown))


def _take(
    rows: DataFrame, metrics: Mapping[str, str], order: Sequence[str], samples: int
) -> tuple[dict[str, int], list[Any]]:
    """Count over all rows, and take the first ones that differ, in one action."""
    observation = Observation(f"compare_{next(_names)}")
    counted = rows.observe(observation, *(functions.expr(sql).alias(name) for name, sql in metrics.items()))
    kinds = "CASE `@kind` WHEN 'removed' THEN 1 WHEN 'added' THEN 2 ELSE 3 END"
    ordered = counted.where("`@kind` <> 'same'").orderBy(functions.expr(kinds), *(quote_name(name) for name in order))
    taken = ordered.limit(max(samples, 1)).collect()
    found = read_metrics(observation) or {}
    return {name: int(found.get(name) or 0) for name in metrics}, taken[:samples]


def _make_change(row: Any, key: Sequence[str], compared: Sequence[str]) -> RowChange:
    kind = row["@kind"]
    keys = {name: _write(row[f"@k{i}"]) for i, name in enumerate(key)}
    before, after = (_read_side(row[side], compared) for side in (BEFORE, AFTER))
    if kind == "changed" and before is not None and after is not None:
        differing = [name for name in compared if before[name] != after[name]]
        before, after = ({name: side[name] for name in differing} for side in (before, after))
    return RowChange(kind, keys, before, after)


def _read_side(values: Any, compared: Sequence[str]) -> dict[str, str | None] | None:
    return None if values is None else {name: _write(values[name]) for name in compared}


def _write(value: Any) -> str | None:
    """Return a value of a row as text, exact."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else write_value(value)
