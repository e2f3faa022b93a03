"""The five operations on lists of dicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal

from tests.reference.expressions import Expr, round_half_up
from tests.reference.groups import TOUCHED, Undetermined

Record = dict[str, object]
Environment = dict[tuple[str | None, str], object]
Aggregations = Sequence[tuple[str, Callable[[list[Record]], object]]]


class ManyMatches(Exception):
    """A touched row found more than one match."""


class NoMatch(Exception):
    """A touched row found no match in a join that requires one."""


@dataclass(frozen=True)
class Run:
    period: str
    start: date
    as_of: date
    timestamp: datetime
    periods: Mapping[str, date]
    """The periods before it, the last one first, with their first days."""

    def shift(self, count: int) -> tuple[str, date]:
        """Return a period, this or one before, and the day on which bitemporal tables are read."""
        return (self.period, self.as_of) if count == 0 else list(self.periods.items())[-count - 1]


@dataclass(frozen=True)
class Table:
    """Declared columns with the scale of decimals, the mode, and the rows as they are in the source."""

    dataset_id: str
    columns: Mapping[str, str]
    mode: str
    rows: Sequence[Record]
    period_shift: int = 0

    def read(self, run: Run) -> list[Record]:
        period, day = run.shift(self.period_shift)
        if self.mode == "period":
            return [row for row in self.rows if row["_period"] == period]
        return self.read_on(day) if self.mode == "bitemporal" else list(self.rows)

    def read_on(self, day: object) -> list[Record]:
        """Return the rows of a bitemporal table that hold on a day; none where it is NULL."""
        return [row for row in self.rows if isinstance(day, date) and _holds(row, day)]


def _holds(row: Record, day: date) -> bool:
    start, end = row["_period_from"], row["_period_to"]
    return isinstance(start, date) and start <= day and (end is None or (isinstance(end, date) and end > day))


@dataclass(frozen=True)
class Join:
    alias: str
    table: Table
    on: Expr
    required: bool = False
    default: Mapping[str, object] = field(default_factory=dict)
    as_of: Expr | None = None

    def widen(self, environment: Environment, run: Run) -> list[Environment]:
        """Return the row with each match, or with the defaults of none."""
        rows = self.table.read(run) if self.as_of is None else self.table.read_on(self.as_of.evaluate(environment))
        matches = [
            environment | {(self.alias, name): row.get(name) for name in self.table.columns} | {(self.alias, ""): True}
            for row in rows
        ]
        missing = {(self.alias, name): self.default.get(name) for name in self.table.columns}
        return [match for match in matches if self.on.evaluate(match) is True] or [environment | missing]

    def finds_nothing(self, environment: Environment) -> bool:
        return self.required and (self.alias, "") not in environment


@dataclass
class Working:
    """The working dataset: rows, the column types that are declared, and who the rows belong to."""

    table: Table
    run: Run
    lookups: Mapping[str, tuple[Table, str, str]]
    rows: list[Record] = field(default_factory=list)
    added: list[str] = field(default_factory=list)

    def load(self) -> None:
        for source in self.table.read(self.run):
            row = {name: source.get(name) for name in self.table.columns}
            row |= self._system(0, self.table.dataset_id) | self._temporal(source)
            self.rows.append(row | {"_row_id": source.get("_row_id")})

    def _system(self, seq: int, source: str) -> Record:
        return {
            "_row_id": None,
            "_source_dataset": source,
            "_operation_seq": Decimal(seq),
            "_created_at": self.run.timestamp,
            "_updated_at": None,
            "_deleted": False,
            "_labels": "",
        }

    def _temporal(self, source: Mapping[str, object]) -> Record:
        if self.table.mode == "bitemporal":
            return {
                "_period_from": source.get("_period_from", self.run.start),
                "_period_to": source.get("_period_to"),
            }
        return {"_period": source.get("_period", self.run.period)}

    def _environment(self, row: Record) -> Environment:
        """Return a row with what its lookups find."""
        found: Environment = {(None, name): value for name, value in row.items()}
        for alias, (table, source_column, target_column) in self.lookups.items():
            matches = [
                other
                for other in table.read(self.run)
                if row[source_column] is not None and other[target_column] == row[source_column]
            ]
            match = matches[0] if matches else {}
            found |= {(alias, name): match.get(name) for name in table.columns}
        return found

    def _touch(self, row: Record, selector: Expr | None, joins: Sequence[Join]) -> Environment | None:
        """Return the row with its matches; None for one that the selector leaves out."""
        environments = [self._environment(row)]
        for join in joins:
            environments = [wider for environment in environments for wider in join.widen(environment, self.run)]
        touching = [e for e in environments if selector is None or selector.evaluate(e) is True]
        if not touching:
            return None
        if len(environments) > 1:
            if any(join.required for join in joins):
                # Which of two mistakes is reported is not fixed.
                raise Undetermined
            raise ManyMatches
        if any(join.finds_nothing(touching[0]) for join in joins):
            raise NoMatch
        return touching[0]

    def _live(self) -> list[Record]:
        return [row for row in self.rows if not row["_deleted"]]

    def _selected(self, selector: Expr | None) -> list[Record]:
        return [row for row in self._live() if selector is None or selector.evaluate(self._environment(row)) is True]

    def _fit(self, name: str, value: object) -> object:
        declared = self.table.columns.get(name, "")
        if isinstance(value, Decimal) and declared.startswith("decimal"):
            return round_half_up(value, int(declared[:-1].split(",")[1]))
        if isinstance(value, Decimal) and declared == "integer":
            return round_half_up(value, 0)
        return value

    def _add_columns(self, names: Sequence[str]) -> None:
        for name in names:
            if name not in self.table.columns and name not in self.added and not name.startswith("_"):
                self.added.append(name)
                for row in self.rows:
                    row[name] = None

    def update(self, selector: Expr | None, joins: Sequence[Join], assignments: Sequence[tuple[str, Expr]]) -> None:
        found = [(row, self._touch(row, selector, joins)) for row in self._live()]
        touched = [(row, environment) for row, environment in found if environment is not None]
        everyone = [environment for _, environment in touched]
        changes: list[tuple[Record, Record]] = []
        for row, environment in touched:
            environment[TOUCHED] = everyone
            values = {name: self._fit(name, expr.evaluate(environment)) for name, expr in assignments}
            changes.append((row, values | {"_updated_at": self.run.timestamp}))
        self._add_columns([name for name, _ in assignments])
        for row, values in changes:
            row.update(values)

    def delete(self, selector: Expr | None) -> None:
        for row in self._selected(selector):
            row["_deleted"], row["_updated_at"] = True, self.run.timestamp

    def aggregate(
        self,
        seq: int,
        selector: Expr | None,
        group_by: Sequence[str],
        aggregations: Aggregations,
    ) -> None:
        summaries = summarise(self._selected(selector), group_by, aggregations)
        self._add_columns([name for name, _ in aggregations])
        self._append(seq, self.table.dataset_id, summaries)

    def append(
        self,
        seq: int,
        source: Table,
        selector: Expr | None,
        group_by: Sequence[str],
        aggregations: Aggregations,
        distinct: bool,
    ) -> None:
        rows = self._read_source(source, selector)
        names = list(source.columns)
        if aggregations:
            rows = summarise(rows, group_by, aggregations)
            names = [*group_by, *(name for name, _ in aggregations)]
        self._add_columns(names)
        self._append(seq, source.dataset_id, rows, distinct)

    def _read_source(self, source: Table, selector: Expr | None) -> list[Record]:
        rows = [{name: row.get(name) for name in source.columns} for row in source.read(self.run)]
        return [
            row for row in rows if selector is None or selector.evaluate({(None, n): v for n, v in row.items()}) is True
        ]

    def expand(
        self,
        seq: int,
        pair: Join,
        source_selector: Expr | None,
        selector: Expr | None,
        columns: Sequence[tuple[str, Expr]],
        distinct: bool,
    ) -> None:
        made = []
        sources = self._read_source(pair.table, source_selector)
        for row in self._selected(selector):
            base = self._environment(row)
            for source in sources:
                both = base | {(pair.alias, name): value for name, value in source.items()}
                if pair.on.evaluate(both) is True:
                    made.append({name: expression.evaluate(both) for name, expression in columns})
        self._add_columns([name for name, _ in columns])
        self._append(seq, pair.table.dataset_id, made, distinct)

    def _append(self, seq: int, source: str, rows: Sequence[Record], distinct: bool = False) -> None:
        found = [{name: self._fit(name, value) for name, value in values.items()} for values in rows]
        if distinct:
            found = [values for place, values in enumerate(found) if values not in found[:place]]
        for values in found:
            row: Record = dict.fromkeys([*self.table.columns, *self.added])
            self.rows.append(row | self._system(seq, source) | self._temporal({}) | values)

    def output(
        self, selector: Expr | None, include_deleted: bool, distinct: bool, columns: Sequence[str]
    ) -> list[Record]:
        rows = [
            {name: row[name] for name in (*columns, "_row_id")}
            for row in (self.rows if include_deleted else self._live())
            if selector is None or selector.evaluate(self._environment(row)) is True
        ]
        return drop_repeated(rows, columns) if distinct else rows


def drop_repeated(rows: Sequence[Record], columns: Sequence[str]) -> list[Record]:
    """Return, of rows that are equal but for system columns, the one with the smallest id."""
    groups: dict[tuple[object, ...], list[Record]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in columns if not name.startswith("_")), []).append(row)
    first = []
    for group in groups.values():
        differing = [row for row in group if any(row[name] != group[0][name] for name in columns)]
        if differing and any(row["_row_id"] is None for row in group):
            raise Undetermined
        first.append(min(group, key=lambda row: str(row["_row_id"])) if differing else group[0])
    return first


def summarise(
    rows: Sequence[Record],
    group_by: Sequence[str],
    aggregations: Aggregations,
) -> list[Record]:
    groups: dict[tuple[object, ...], list[Record]] = {} if group_by else {(): []}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in group_by), []).append(row)
    return [
        dict(zip(group_by, key, strict=True)) | {name: function(members) for name, function in aggregations}
        for key, members in groups.items()
    ]
