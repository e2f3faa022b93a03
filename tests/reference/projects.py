"""Random projects: the YAML documents for the engine, and the same operations run by the reference."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal

from tests.reference import expressions as x
from tests.reference import functions as f
from tests.reference.aggregates import draw_aggregations
from tests.reference.checks import CheckGenerator, Rows
from tests.reference.data import PERIOD, UNDETERMINED, DataGenerator, RandomProject, show
from tests.reference.drawing import kind_of
from tests.reference.engine import Aggregations, Join, ManyMatches, NoMatch, Record, Run, Working
from tests.reference.expressions import Expr
from tests.reference.groups import Undetermined

EARLIER = {"2026-01": date(2026, 1, 1), "2025-12": date(2025, 12, 1)}
RUN = Run(PERIOD, date(2026, 2, 1), date(2026, 2, 1), datetime(2026, 3, 1, tzinfo=UTC), EARLIER)
FAILURES = {
    ManyMatches: "JOIN_010",
    NoMatch: "JOIN_011",
    f.DataFailure: "DATA_003",
    Undetermined: UNDETERMINED,
}
TARGETS = ["region", "amount", "qty", "flag", "posted", "_labels", "n1", "n2", "s1", "s2", "b1"]


class Generator(DataGenerator):
    """Draws one project from a seed."""

    def generate(self) -> RandomProject:
        self._make_tables()
        working = Working(self.tables["ledger"], RUN, {"team": (self.tables["teams"], "region", "code")})
        working.load()
        loaded = [dict(row) for row in working.rows]
        self.scope = {name: kind_of(kind) for name, kind in working.table.columns.items()}
        self.makers: list[int] = []
        try:
            seq = 0
            for _ in range(self.random.randint(1, 6)):
                seq += self.random.randint(1, 5)
                self.random.choice(
                    [self._update, self._update, self._aggregate, self._append, self._expand, self._delete]
                )(seq, working)
            if self.random.random() < 0.4:
                seq += 1
                self._output(seq, working)
                self._update(seq + 1, working)
                seq += 1
            self._output(seq + 1, working)
            self._check(loaded)
        except tuple(FAILURES) as failure:
            self.project.fails_with = FAILURES[type(failure)]
            # What follows does not matter to the reference, but the project needs an output to be whole.
            self._write_output(10_000, None, {"include_deleted": False})
        self.random.shuffle(self.project.operations)
        return self.project

    def _check(self, loaded: list[Record]) -> None:
        outputs = {
            seq: self._describe({"output": seq}, rows, self.project.output_columns[seq])
            for seq, rows in self.project.outputs.items()
        }
        source = self._describe({"input": ""}, loaded, list(self.tables["ledger"].columns))
        checks = CheckGenerator(self.project.seed, outputs, source)
        checks.generate(checks.random.randint(0, 5))
        self.project.checks, self.project.results = checks.checks, checks.expected

    def _describe(self, named: dict[str, object], rows: list[Record], columns: list[str]) -> Rows:
        kinds = {name: self.scope[name].name for name in columns if name in self.scope}
        numbers = [name for name, kind in kinds.items() if kind == "number"]
        return Rows(named, rows, numbers, [name for name, kind in kinds.items() if kind == "string"])

    def _selector(self, joins: list[Join]) -> tuple[str | None, Expr | None]:
        chance = self.random.random()
        if chance < 0.25:
            return None, None
        if chance < 0.5:
            origin = self._origin()
            if chance < 0.4:
                return origin.text, origin
            both = x.logical_and(origin, self._boolean(joins, 0))
            return both.text, both
        condition = self._boolean(joins)
        if not joins and self.random.random() < 0.3:
            name = f"S{len(self.project.selectors)}"
            self.project.selectors[name] = condition.text
            other = self._boolean([], 0)
            both = x.logical_and(condition, other)
            return self.random.choice(
                [
                    (f"{{{{{name}}}}}", condition),
                    (f"{{{{{name}}}}} AND {other.inside()}", both),
                ]
            )
        return condition.text, condition

    def _origin(self) -> Expr:
        """Return a condition on where rows come from."""
        seq = x.column(None, "_operation_seq", x.INTEGER, "_operation_seq")
        known = x.literal(self.random.choice([0, 0, *(int(str(item["seq"])) for item in self.project.operations)]))
        return x.compare(self.random.choice(["=", "=", ">", "<>", "<="]), seq, known)

    def _rows(self) -> tuple[dict[str, object], Expr | None]:
        """Draw selector and `from` of an operation, as YAML and as the condition that both make."""
        text, selector = self._selector([])
        written: dict[str, object] = {"selector": text} if text is not None else {}
        chance = self.random.random()
        if chance > 0.35:
            return written, selector
        if chance < 0.1:
            return written | {"from": "all"}, selector
        seqs = (
            [0] if chance < 0.2 else self.random.sample([0, *self.makers], self.random.randint(1, len(self.makers) + 1))
        )
        column = x.column(None, "_operation_seq", x.INTEGER, "_operation_seq")
        origin = x.one_of(column, [x.literal(seq) for seq in seqs])
        return written | {"from": "loaded" if chance < 0.2 else seqs}, (
            origin if selector is None else x.logical_and(selector, origin)
        )

    # Operations

    def _add(self, seq: int, kind: str, arguments: dict[str, object], more: dict[str, object]) -> None:
        operation = {"seq": seq, "name": f"{kind} {seq}", "type": kind, "arguments": arguments}
        self.project.operations.append(operation | more)

    def _update(self, seq: int, working: Working) -> None:
        names = self.random.sample(["fx", "tg", "cd"], self.random.choice([0, 0, 1, 1, 2, 3]))
        joins: list[Join] = []
        written = []
        for alias in names:
            join, yaml = self._join(alias, joins)
            joins.append(join)
            written.append(yaml)
        text, selector = self._selector(joins if self.random.random() < 0.4 else [])
        self.groups = self.random.random() < 0.4
        self.sees_only_loaded = not self.makers
        if self.groups and self.makers and self.random.random() < 0.7:
            loaded = x.compare("=", x.column(None, "_operation_seq", x.INTEGER, "_operation_seq"), x.literal(0))
            selector = loaded if selector is None else x.logical_and(selector, loaded)
            text, self.sees_only_loaded = selector.text, True
        assignments = [self._assignment(name, joins) for name in self._targets()]
        self.groups = False
        arguments: dict[str, object] = {"assignments": [{"column": n, "expression": e.text} for n, e in assignments]}
        more: dict[str, object] = {"selector": text} if text is not None else {}
        self._add(seq, "update", arguments | ({"joins": written} if written else {}), more)
        working.update(selector, joins, assignments)
        for name, expression in assignments:
            self.scope.setdefault(name, expression.kind)

    def _join(self, alias: str, joins: list[Join]) -> tuple[Join, dict[str, object]]:
        dataset = {"fx": "rates", "tg": "targets", "cd": "codes"}[alias]
        table = self.tables[dataset]
        key = x.column(None, "region", x.STRING, self.random.choice(["region", "ledger_rows.region"]))
        other = x.column(alias, "code", x.STRING, f"{alias}.code")
        on = x.compare("=", key, other) if self.random.random() < 0.5 else x.compare("=", other, key)
        if self.random.random() < 0.3:
            rate = x.column(alias, "rate", x.decimal(6), f"{alias}.rate")
            on = x.logical_and(on, x.compare(">", rate, x.literal(0)))
        if joins and self.random.random() < 0.3:
            earlier = x.column(joins[0].alias, "note", x.STRING, f"{joins[0].alias}.note")
            on = x.logical_and(on, x.is_null(earlier, True))
        join, yaml = Join(alias, table, on), {"alias": alias, "dataset_id": dataset, "on": on.text}
        chance = self.random.random()
        if chance < 0.08:
            join, yaml = replace(join, required=True), yaml | {"required": True}
        elif chance < 0.3:
            default: dict[str, object] = {"rate": Decimal("1.5"), "note": "none", "target": Decimal(-2), "code": "A"}
            default = {name: default[name] for name in self.random.sample(list(default), self.random.randint(1, 3))}
            join, yaml = replace(join, default=default), yaml | {"default": {n: show(v) for n, v in default.items()}}
        if table.mode == "bitemporal" and self.random.random() < 0.5:
            text, day = self._day()
            join, yaml = replace(join, as_of=day), yaml | {"as_of": text}
        return join, yaml

    def _day(self) -> tuple[str, Expr]:
        """Draw the day on which a join looks at a bitemporal table."""
        drawn = self._date()
        return self.random.choice(
            [
                ("period_start", x.literal(date(2026, 2, 1))),
                ("period_end", x.literal(date(2026, 2, 28))),
                ("2026-01-15", x.literal(date(2026, 1, 15))),
                ("posted", x.column(None, "posted", x.DATE, "posted")),
                (drawn.text, drawn),
            ]
        )

    def _targets(self) -> list[str]:
        return self.random.sample(TARGETS, self.random.randint(1, 3))

    groups = False
    """Whether the assignments that are drawn may hold group functions."""

    def _assignment(self, name: str, joins: list[Join]) -> tuple[str, Expr]:
        grouped = self.groups and self.random.random() < 0.7
        if name in ("region", "_labels", "s1", "s2"):
            return name, self._group_string(joins) if grouped else self._string(joins)
        if name in ("flag", "b1"):
            return name, self._group_boolean(joins) if grouped else self._boolean(joins)
        if name == "posted":
            return name, self._date()
        return name, self._group_number(joins) if grouped else self._number(joins)

    def _aggregate(self, seq: int, working: Working) -> None:
        more, selector = self._rows()
        group_by = self.random.sample(["region", "flag", "posted"], self.random.choice([0, 1, 1, 2]))
        numbers = [name for name, kind in self.scope.items() if kind.name == "number"]
        targets = ["amount", "qty", "total", "lines", "n1"]
        written, functions = draw_aggregations(self.random, numbers, ["region", "posted"], targets)
        shown = [self.random.choice([name, f"ledger_rows.{name}"]) for name in group_by]
        self._add(seq, "aggregate", {"group_by": shown, "aggregations": written}, more)
        self.makers.append(seq)
        working.aggregate(seq, selector, group_by, functions)
        for name, _ in functions:
            self.scope.setdefault(name, x.decimal(6))

    def _source_selector(self, table: str) -> Expr | None:
        if self.random.random() < 0.5:
            return None
        if table == "budget":
            amount = x.column(None, "amount", x.decimal(2), self.random.choice(["amount", "budget_rows.amount"]))
            region = x.column(None, "region", x.STRING, "region")
            return x.logical_or(x.compare(">", amount, x.literal(0)), x.is_null(region))
        rate = x.column(None, "rate", x.decimal(6), self.random.choice(["rate", f"{table}_rows.rate"]))
        return x.compare(">", rate, x.literal(Decimal("-20.5")))

    def _expand(self, seq: int, working: Working) -> None:
        name = self.random.choice(["rates", "targets"])
        key, other = x.column(None, "region", x.STRING, "region"), x.column("fx", "code", x.STRING, "fx.code")
        on = self.random.choice([x.compare("=", key, other), x.literal(True), x.compare("<", other, key)])
        pair = Join("fx", self.tables[name], on)
        more, selector = self._rows()
        source_selector = self._source_selector(name)
        distinct = self.random.random() < 0.3
        # Which of equal rows stays is known only where they are equal in all that is written.
        targets = [target for target in self._targets() if target != "_labels" or not distinct] or ["n1"]
        columns = [self._assignment(target, [pair]) for target in targets]
        expand = {"alias": "fx", "on": on.text, "columns": [{"column": n, "expression": e.text} for n, e in columns]}
        arguments: dict[str, object] = {"source": {"dataset_id": name}, "add_columns": True, "expand": expand}
        arguments |= {"distinct": True} if distinct else {}
        arguments |= {} if source_selector is None else {"source_selector": source_selector.text}
        self._add(seq, "append", arguments, more)
        self.makers.append(seq)
        working.expand(seq, pair, source_selector, selector, columns, distinct)
        for column, expression in columns:
            self.scope.setdefault(column, expression.kind)

    def _append(self, seq: int, working: Working) -> None:
        name = self.random.choice(["budget", "budget", "codes"])
        source = self.tables[name]
        distinct = self.random.random() < 0.3
        arguments: dict[str, object] = {"source": {"dataset_id": name}} | ({"distinct": True} if distinct else {})
        selector = self._source_selector(name)
        if selector is not None:
            arguments["source_selector"] = selector.text
        group_by: list[str] = []
        functions: Aggregations = []
        new = name == "codes"
        if self.random.random() < 0.4:
            key = "code" if name == "codes" else "region"
            group_by = [key] if self.random.random() < 0.8 else []
            numbers = ["rate", "target"] if name == "codes" else ["amount", "qty"]
            targets = ["amount", "qty", *(["lines", "spread"] if name == "codes" else [])]
            written, functions = draw_aggregations(self.random, numbers, [key], targets)
            arguments["aggregation"] = {"group_by": group_by, "aggregations": written}
        if new or self.random.random() < 0.2:
            arguments["add_columns"] = True
        self._add(seq, "append", arguments, {})
        self.makers.append(seq)
        working.append(seq, source, selector, group_by, functions, distinct)
        if not functions:
            self._know({column: kind_of(kind) for column, kind in source.columns.items()})
        else:
            self._know(dict.fromkeys(group_by, x.STRING) | {column: x.decimal(6) for column, _ in functions})

    def _know(self, columns: dict[str, x.Kind]) -> None:
        for column, kind in columns.items():
            self.scope.setdefault(column, kind)

    def _delete(self, seq: int, working: Working) -> None:
        text, selector = self._selector([])
        if selector is None:
            selector = x.is_null(x.column(None, "amount", x.decimal(2), "amount"))
            text = selector.text
        self._add(seq, "delete", {}, {"selector": text})
        working.delete(selector)

    def _output(self, seq: int, working: Working) -> None:
        more, selector = self._rows()
        include_deleted = self.random.random() < 0.3
        distinct = self.random.random() < 0.3
        system = ["_source_dataset", "_operation_seq", "_created_at", "_updated_at", "_deleted", "_labels"]
        system += ["_period_from", "_period_to"] if working.table.mode == "bitemporal" else ["_period"]
        system += ["_row_id"] if self.has_ids and not self.makers else []
        everything = [*working.table.columns, *working.added, *system]
        columns = None
        if distinct or self.random.random() < 0.5:
            columns = self.random.sample(everything, self.random.randint(2, len(everything)))
        if distinct and columns is not None:
            # Rows whose ids are not known are distinguished by their own columns alone.
            few = ["region", "flag", "posted"]
            columns = self.random.sample(few, self.random.randint(1, 3)) + (
                ["amount", "_labels", "_row_id"] if "_row_id" in system else []
            )
        arguments: dict[str, object] = {"include_deleted": include_deleted}
        arguments |= ({"distinct": True} if distinct else {}) | ({"columns": columns} if columns else {})
        self._write_output(seq, more, arguments)
        self.project.output_columns[seq] = columns or everything
        self.project.outputs[seq] = working.output(selector, include_deleted, distinct, columns or everything)

    def _write_output(self, seq: int, more: dict[str, object] | None, arguments: dict[str, object]) -> None:
        arguments = {"destination": {"type": "parquet", "path": f"out/{seq}"}, **arguments}
        self._add(seq, "output", arguments, more or {})
