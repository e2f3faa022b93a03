"""The five operations on lists of dicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal

from tests.reference.expressions import Expr, round_half_up

Record = dict[str, object]


class ManyMatches(Exception):
    """A touched row found more than one match."""


@dataclass(frozen=True)
class Table:
    """Declared columns with the scale of decimals, the mode, and the rows as they lie in the source."""

    dataset_id: str
    columns: Mapping[str, str]
    mode: str
    rows: Sequence[Record]

    def read(self, period: str, as_of: date) -> list[Record]:
        if self.mode == "period":
            return [row for row in self.rows if row["_period"] == period]
        if self.mode == "bitemporal":
            return [row for row in self.rows if _holds(row, as_of)]
        return list(self.rows)


def _holds(row: Record, as_of: date) -> bool:
    start, end = row["_period_from"], row["_period_to"]
    return isinstance(start, date) and start <= as_of and (end is None or (isinstance(end, date) and end > as_of))


@dataclass(frozen=True)
class Join:
    alias: str
    table: Table
    on: Expr


@dataclass(frozen=True)
class Run:
    period: str
    start: date
    as_of: date
    timestamp: datetime


@dataclass
class Working:
    """The working dataset: rows, the column types that are declared, and who the rows belong to."""

    table: Table
    run: Run
    lookups: Mapping[str, tuple[Table, str, str]]
    rows: list[Record] = field(default_factory=list)
    added: list[str] = field(default_factory=list)

    def load(self) -> None:
        for source in self.table.read(self.run.period, self.run.as_of):
            row = {name: source.get(name) for name in self.table.columns}
            self.rows.append(row | self._system(0, self.table.dataset_id) | self._temporal(source))

    def _system(self, seq: int, source: str) -> Record:
        return {
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

    def _environments(
        self, row: Record, joins: Sequence[Join]
    ) -> tuple[list[dict[tuple[str | None, str], object]], bool]:
        """Every combination of matches for a row, and whether any join had more than one."""
        base: dict[tuple[str | None, str], object] = {(None, name): value for name, value in row.items()}
        for alias, (table, source_column, target_column) in self.lookups.items():
            matches = [
                other
                for other in table.read(self.run.period, self.run.as_of)
                if row[source_column] is not None and other[target_column] == row[source_column]
            ]
            found = matches[0] if matches else {}
            base |= {(alias, name): found.get(name) for name in table.columns}
        environments, many = [base], False
        for join in joins:
            widened = []
            for environment in environments:
                matches = [
                    environment | {(join.alias, name): other.get(name) for name in join.table.columns}
                    for other in join.table.read(self.run.period, self.run.as_of)
                ]
                matches = [match for match in matches if join.on.evaluate(match) is True]
                many = many or len(matches) > 1
                widened += matches or [environment | {(join.alias, name): None for name in join.table.columns}]
            environments = widened
        return environments, many

    def _live(self) -> list[Record]:
        return [row for row in self.rows if not row["_deleted"]]

    def _selected(self, selector: Expr | None) -> list[Record]:
        return [
            row
            for row in self._live()
            if selector is None or selector.evaluate(self._environments(row, [])[0][0]) is True
        ]

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
        changes: list[tuple[Record, Record]] = []
        for row in self._live():
            environments, many = self._environments(row, joins)
            touching = [e for e in environments if selector is None or selector.evaluate(e) is True]
            if not touching:
                continue
            if many:
                raise ManyMatches
            values = {name: self._fit(name, expr.evaluate(touching[0])) for name, expr in assignments}
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
        aggregations: Sequence[tuple[str, Callable[[list[Record]], object]]],
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
        aggregations: Sequence[tuple[str, Callable[[list[Record]], object]]],
    ) -> None:
        rows = [
            {name: row.get(name) for name in source.columns} for row in source.read(self.run.period, self.run.as_of)
        ]
        if selector is not None:
            rows = [row for row in rows if selector.evaluate({(None, n): v for n, v in row.items()}) is True]
        if aggregations:
            rows = summarise(rows, group_by, aggregations)
        self._append(seq, source.dataset_id, rows)

    def expand(self, seq: int, pair: Join, selector: Expr | None, columns: Sequence[tuple[str, Expr]]) -> None:
        made = []
        for row in self._selected(selector):
            base = self._environments(row, [])[0][0]
            for source in pair.table.read(self.run.period, self.run.as_of):
                both = base | {(pair.alias, name): source.get(name) for name in pair.table.columns}
                if pair.on.evaluate(both) is True:
                    made.append({name: expression.evaluate(both) for name, expression in columns})
        self._add_columns([name for name, _ in columns])
        self._append(seq, pair.table.dataset_id, made)

    def _append(self, seq: int, source: str, rows: Sequence[Record]) -> None:
        for values in rows:
            row = dict.fromkeys([*self.table.columns, *self.added])
            row |= self._system(seq, source) | self._temporal({})
            row |= {name: self._fit(name, value) for name, value in values.items()}
            self.rows.append(row)

    def output(self, selector: Expr | None, include_deleted: bool) -> list[Record]:
        rows = self.rows if include_deleted else self._live()
        return [
            dict(row)
            for row in rows
            if selector is None or selector.evaluate(self._environments(row, [])[0][0]) is True
        ]


def summarise(
    rows: Sequence[Record],
    group_by: Sequence[str],
    aggregations: Sequence[tuple[str, Callable[[list[Record]], object]]],
) -> list[Record]:
    groups: dict[tuple[object, ...], list[Record]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in group_by), []).append(row)
    return [
        dict(zip(group_by, key, strict=True)) | {name: function(members) for name, function in aggregations}
        for key, members in groups.items()
    ]
