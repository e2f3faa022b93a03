"""Random projects: the YAML documents for the engine, and the same operations run by the reference."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal

from tests.reference import expressions as x
from tests.reference.checks import CheckGenerator, Expected, Rows
from tests.reference.engine import Join, ManyMatches, Record, Run, Table, Working
from tests.reference.expressions import Expr, Kind

TEXTS = [
    "EMEA",
    "APAC",
    "",
    " north ",
    'say "hi"',
    "it's",
    "back\\slash",
    "größe",
    "日本",
    "🙂x",
    "a;b--c",
    "`tick`",
    "100%_",
]
CODES = ["A", "B", "C", "D", "it's"]
RUN = Run("2026-02", date(2026, 2, 1), date(2026, 2, 1), datetime(2026, 3, 1, tzinfo=UTC))
KINDS = {"string": x.STRING, "integer": x.INTEGER, "boolean": x.BOOLEAN, "date": x.DATE}


def kind_of(declared: str) -> Kind:
    return KINDS.get(declared) or x.decimal(int(declared[:-1].split(",")[1]))


@dataclass
class RandomProject:
    """One random project with its data, its scenario document, and the rows that must come out."""

    seed: int
    datasets: list[dict[str, object]] = field(default_factory=list)
    data: list[dict[str, object]] = field(default_factory=list)
    operations: list[dict[str, object]] = field(default_factory=list)
    selectors: dict[str, str] = field(default_factory=dict)
    outputs: dict[int, list[Record]] = field(default_factory=dict)
    output_columns: dict[int, list[str]] = field(default_factory=dict)
    fails_with: str | None = None
    checks: list[dict[str, object]] = field(default_factory=list)
    results: list[Expected] = field(default_factory=list)

    def scenario(self) -> dict[str, object]:
        """The scenario document of this project, with the reference's rows as what is expected."""
        fails_with = "CHECK_001" if any(result.status == "failed" for result in self.results) else self.fails_with
        expect: dict[str, object] = (
            {"error": {"code": fails_with}}
            if fails_with
            else {
                "outputs": [
                    {
                        "operation": seq,
                        "match": "exact",
                        "rows": [{name: show(row[name]) for name in self.output_columns[seq]} for row in rows],
                    }
                    | ({"row_count": 0} if not rows else {})
                    for seq, rows in self.outputs.items()
                ]
            }
        )
        if self.results:
            expect["checks"] = [result.to_yaml() for result in self.results]
        return {
            "scenario": f"random project {self.seed}",
            "run": {"project": "random", "period": RUN.period},
            "datasets": self.datasets,
            "projects": [
                {
                    "id": "random-project",
                    "name": "random",
                    "version": 1,
                    "input_dataset_id": "ledger",
                    "selectors": self.selectors,
                    "operations": self.operations,
                    "checks": self.checks,
                }
            ],
            "data": self.data,
            "expect": expect,
        }


def show(value: object) -> str | bool | None:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, datetime):
        return value.isoformat()
    return value.isoformat() if isinstance(value, date) else str(value)


class Generator:
    """Draws one project from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.project = RandomProject(seed)
        self.tables: dict[str, Table] = {}

    def generate(self) -> RandomProject:
        self._make_tables()
        working = Working(self.tables["ledger"], RUN, {"team": (self.tables["teams"], "region", "code")})
        working.load()
        loaded = [dict(row) for row in working.rows]
        self.scope: dict[str, Kind] = {name: kind_of(kind) for name, kind in working.table.columns.items()}
        self.new: set[str] = set()
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
        except ManyMatches:
            self.project.fails_with = "JOIN_010"
            # What follows does not matter to the reference, but the project needs an output to be whole.
            self._write_output(10_000, None, False, None)
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

    # Data

    def _make_tables(self) -> None:
        choose = self.random.choice
        modes = ["period", "snapshot", "bitemporal"]
        rows = [self._ledger_row(number) for number in range(self.random.randint(0, 14))]
        lookups = [
            {
                "alias": "team",
                "target": {"type": "dataset", "id": "teams"},
                "join_conditions": [{"source_column": "region", "target_column": "code"}],
            }
        ]
        self._add_table(
            "ledger",
            {
                "id": "string",
                "region": "string",
                "amount": "decimal(18,2)",
                "qty": "integer",
                "posted": "date",
                "flag": "boolean",
            },
            choose(["period", "period", "snapshot", "bitemporal"]),
            rows,
            lookups,
        )
        self._add_table(
            "teams",
            {"code": "string", "label": "string", "weight": "integer"},
            "snapshot",
            [{"code": code, "label": choose(TEXTS), "weight": self._integer()} for code in ["EMEA", "APAC", "it's"]],
        )
        duplicated = self.random.random() < 0.25
        keys = [*CODES[:4], *(["A"] if duplicated else [])]
        for name, mode in (("rates", "bitemporal"), ("targets", "period"), ("codes", choose(modes))):
            self._add_table(
                name,
                {"code": "string", "rate": "decimal(18,6)", "target": "decimal(12,2)", "note": "string"},
                mode,
                [
                    {"code": key, "rate": self._decimal(6), "target": self._decimal(2), "note": choose([*TEXTS, None])}
                    for key in keys
                ],
                spread=True,
            )
        self._add_table(
            "budget",
            {"region": "string", "amount": "decimal(18,2)", "qty": "integer"},
            choose(modes),
            [self._ledger_row(number, ("region", "amount", "qty")) for number in range(self.random.randint(0, 8))],
        )

    def _add_table(
        self,
        name: str,
        columns: dict[str, str],
        mode: str,
        rows: list[Record],
        lookups: list[dict[str, object]] | None = None,
        *,
        spread: bool = False,
    ) -> None:
        """Add a dataset; `spread` gives each row a twin in another period or range, so that a wrong filter shows."""
        placed: list[Record] = []
        for row in rows:
            if mode == "snapshot":
                placed.append(row)
            elif mode == "period":
                periods = ["2026-01", "2026-02"] if spread else [self.random.choice(["2026-01", "2026-02", "2026-02"])]
                placed += [row | {"_period": period} for period in periods]
            else:
                ranges = [(date(2025, 1, 1), date(2026, 2, 1)), (date(2026, 2, 1), None)]
                if self.random.random() < 0.3:
                    ranges = [(date(2026, 2, 2), None), (date(2026, 1, 1), date(2026, 2, 2))]
                chosen = ranges if spread else [self.random.choice(ranges)]
                placed += [row | {"_period_from": start, "_period_to": end} for start, end in chosen]
        table = Table(name, columns, mode, placed)
        self.tables[name] = table
        declared = [{"name": column} | _declare(kind) for column, kind in columns.items()]
        main = {"name": f"{name}_rows", "temporal_mode": mode, "columns": declared}
        document: dict[str, object] = {"id": name, "name": name.title(), "version": 1, "main_table": main}
        self.project.datasets.append(document | ({"lookups": lookups} if lookups else {}))
        shown = [
            {column: show(value) for column, value in row.items() if value is not None or self.random.random() < 0.5}
            for row in placed
        ]
        if shown:
            every = [*columns, *[c for c in ("_period", "_period_from", "_period_to") if c in placed[0]]]
            shown[0] = {column: show(placed[0].get(column)) for column in every}
            self.project.data.append({"dataset": name, "rows": shown})

    def _ledger_row(self, number: int, only: tuple[str, ...] | None = None) -> Record:
        choose = self.random.choice
        row: Record = {
            "id": f"JE-{number}",
            "region": choose([*TEXTS, *CODES, "EMEA", "A", "B", None]),
            "amount": choose([self._decimal(2), self._decimal(2), Decimal("0.00"), None]),
            "qty": choose([self._integer(), self._integer(), None]),
            "posted": choose([date(2026, 2, self.random.randint(1, 28)), None]),
            "flag": choose([True, False, None]),
        }
        return row if only is None else {name: row[name] for name in only}

    def _decimal(self, scale: int) -> Decimal:
        return Decimal(self.random.randint(-(10**8), 10**8)).scaleb(-scale)

    def _integer(self) -> Decimal:
        return Decimal(self.random.randint(-50, 50))

    # Expressions

    def _columns(self, kind: str, joins: list[Join]) -> list[Expr]:
        found = [
            x.column(None, name, k, self.random.choice([name, f"ledger_rows.{name}"]))
            for name, k in self.scope.items()
            if k.name == kind
        ]
        sources = [("team", self.tables["teams"])] + [(join.alias, join.table) for join in joins]
        return found + [
            x.column(alias, name, kind_of(k), f"{alias}.{name}")
            for alias, table in sources
            for name, k in table.columns.items()
            if kind_of(k).name == kind
        ]

    def _declared_number(self) -> Expr:
        name = self.random.choice(["amount", "qty"])
        return x.column(None, name, kind_of(self.tables["ledger"].columns[name]), name)

    def _number(self, joins: list[Join], depth: int = 2) -> Expr:
        choose = self.random.choice
        if depth == 0:
            options = self._columns("number", joins)
            return choose(
                [
                    *options,
                    x.literal(self.random.randint(0, 99)),
                    x.literal(Decimal(self.random.randint(1, 999)).scaleb(-2)),
                ]
            )
        a = self._number(joins, depth - 1)
        b = self._number(joins, depth - 1)
        return choose(
            [
                lambda: x.arithmetic("+", a, b),
                lambda: x.arithmetic("-", a, b),
                lambda: x.arithmetic("*", self._declared_number(), self._small_number(joins)),
                lambda: x.divide(self._declared_number(), self._declared_number()),
                lambda: x.if_(self._boolean(joins, depth - 1), a, b),
                lambda: x.coalesce(a, b),
                lambda: x.round_(a, self.random.randint(0, 3)),
                lambda: x.negate(a),
                lambda: x.absolute(a),
                lambda: x.floor(self._declared_number()),
                lambda: x.ceil(self._declared_number()),
                lambda: x.mod(self._declared_number(), self._declared_number()),
                lambda: x.least(a, b),
                lambda: x.greatest(a, b),
                lambda: x.length(self._string(joins, 0)),
                lambda: x.date_difference(self._date(), self._date()),
                lambda: a,
            ]
        )()

    def _small_number(self, joins: list[Join]) -> Expr:
        rates = [x.column(j.alias, "rate", x.decimal(6), f"{j.alias}.rate") for j in joins]
        return self.random.choice([*rates, x.literal(self.random.randint(0, 9)), x.literal(Decimal("0.905"))])

    def _string(self, joins: list[Join], depth: int = 2) -> Expr:
        choose = self.random.choice
        if depth == 0:
            return choose([*self._columns("string", joins), x.literal(choose(TEXTS), choose("\"'"))])
        a, b = self._string(joins, depth - 1), self._string(joins, depth - 1)
        return choose(
            [
                lambda: x.concat(a, b),
                lambda: x.left(a, self.random.randint(-1, 4)),
                lambda: x.right(a, self.random.randint(-1, 4)),
                lambda: x.trim(a),
                lambda: x.replace(a, choose(["i", "größ", " ", '"']), choose(["", "🙂", "''"])),
                lambda: x.upper(x.replace(a, "ß", "ss")),
                lambda: x.coalesce(a, b),
                lambda: x.if_(self._boolean(joins, depth - 1), a, b),
                lambda: a,
            ]
        )()

    def _date(self) -> Expr:
        posted = x.column(None, "posted", x.DATE, "posted")
        return self.random.choice(
            [posted, x.literal(date(2026, 2, 14)), x.date_add(posted, self.random.randint(-40, 40))]
        )

    def _boolean(self, joins: list[Join], depth: int = 2) -> Expr:
        choose = self.random.choice
        if depth == 0:
            return choose(
                [
                    lambda: x.column(None, "flag", x.BOOLEAN, "flag"),
                    lambda: x.compare(
                        choose(["=", "<>", "!=", "<", "<=", ">", ">="]), self._number(joins, 0), self._number(joins, 0)
                    ),
                    lambda: x.compare(choose(["=", "<>", "<", ">="]), self._string(joins, 0), self._string(joins, 0)),
                    lambda: x.compare(choose(["=", "<", ">="]), self._date(), self._date()),
                    lambda: x.is_null(self._string(joins, 0), choose([True, False])),
                    lambda: x.one_of(
                        self._string(joins, 0), [self._string(joins, 0) for _ in range(3)], choose([True, False])
                    ),
                    lambda: x.between(self._number(joins, 0), self._number(joins, 0), self._number(joins, 0)),
                    lambda: x.contains(self._string(joins, 0), choose(["E", "i", '"', "日"])),
                    lambda: x.literal(choose([True, True, False])),
                ]
            )()
        a, b = self._boolean(joins, depth - 1), self._boolean(joins, depth - 1)
        return choose(
            [
                lambda: x.logical_and(a, b),
                lambda: x.logical_or(a, b),
                lambda: x.logical_not(a),
                lambda: x.coalesce(a, b),
                lambda: a,
            ]
        )()

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

    # Operations

    def _add(self, seq: int, kind: str, arguments: dict[str, object], selector: str | None = None) -> None:
        operation = {"seq": seq, "name": f"{kind} {seq}", "type": kind, "arguments": arguments}
        self.project.operations.append(operation | ({"selector": selector} if selector is not None else {}))

    def _update(self, seq: int, working: Working) -> None:
        joins: list[Join] = []
        written = []
        for alias in self.random.sample(["fx", "tg", "cd"], self.random.choice([0, 0, 1, 1, 2, 3])):
            dataset = {"fx": "rates", "tg": "targets", "cd": "codes"}[alias]
            key = x.column(None, "region", x.STRING, self.random.choice(["region", "ledger_rows.region"]))
            other = x.column(alias, "code", x.STRING, f"{alias}.code")
            on = x.compare("=", key, other) if self.random.random() < 0.5 else x.compare("=", other, key)
            if self.random.random() < 0.3:
                rate = x.column(alias, "rate", x.decimal(6), f"{alias}.rate")
                on = x.logical_and(on, x.compare(">", rate, x.literal(0)))
            if joins and self.random.random() < 0.3:
                earlier = x.column(joins[0].alias, "note", x.STRING, f"{joins[0].alias}.note")
                on = x.logical_and(on, x.is_null(earlier, True))
            joins.append(Join(alias, self.tables[dataset], on))
            written.append({"alias": alias, "dataset_id": dataset, "on": on.text})
        text, selector = self._selector(joins if self.random.random() < 0.4 else [])
        assignments = [self._assignment(name, joins) for name in self._targets()]
        arguments: dict[str, object] = {"assignments": [{"column": n, "expression": e.text} for n, e in assignments]}
        self._add(seq, "update", arguments | ({"joins": written} if written else {}), text)
        working.update(selector, joins, assignments)
        for name, expression in assignments:
            self.scope.setdefault(name, expression.kind)

    def _targets(self) -> list[str]:
        return self.random.sample(
            ["region", "amount", "qty", "flag", "posted", "_labels", "n1", "n2", "s1", "s2", "b1"],
            self.random.randint(1, 3),
        )

    def _assignment(self, name: str, joins: list[Join]) -> tuple[str, Expr]:
        if name in ("region", "_labels", "s1", "s2"):
            return name, self._string(joins)
        if name in ("flag", "b1"):
            return name, self._boolean(joins)
        return name, self._date() if name == "posted" else self._number(joins)

    def _aggregations(
        self, numbers: list[str], targets: list[str]
    ) -> tuple[list[dict[str, str]], list[tuple[str, Callable[[list[Record]], object]]]]:
        written, functions = [], []
        for target in self.random.sample(targets, self.random.randint(1, min(3, len(targets)))):
            source = self.random.choice(numbers)
            text, function = self.random.choice(
                [
                    (f"SUM({source})", lambda rows, c=source: _fold(rows, c, lambda v: sum(v, Decimal(0)))),
                    (f"COUNT({source})", lambda rows, c=source: Decimal(sum(row[c] is not None for row in rows))),
                    ("COUNT(*)", lambda rows: Decimal(len(rows))),
                    (f"MIN_AGG({source})", lambda rows, c=source: _fold(rows, c, min)),
                    (f"MAX_AGG({source})", lambda rows, c=source: _fold(rows, c, max)),
                    (
                        f"SUM({source} * 2) - COUNT_ALL()",
                        lambda rows, c=source: _fold(rows, c, lambda v: 2 * sum(v, Decimal(0)) - len(rows)),
                    ),
                    (
                        "AVG(amount)",
                        lambda rows: _fold(
                            rows, "amount", lambda v: x.divide(_const(sum(v), 2), _const(Decimal(len(v)))).evaluate({})
                        ),
                    ),
                ]
            )
            written.append({"column": target, "expression": text})
            functions.append((target, function))
        return written, functions

    def _aggregate(self, seq: int, working: Working) -> None:
        text, selector = self._selector([])
        group_by = self.random.sample(["region", "flag", "posted"], self.random.randint(1, 2))
        numbers = [name for name, kind in self.scope.items() if kind.name == "number"]
        written, functions = self._aggregations(numbers, ["amount", "qty", "total", "lines", "n1"])
        shown = [self.random.choice([name, f"ledger_rows.{name}"]) for name in group_by]
        self._add(seq, "aggregate", {"group_by": shown, "aggregations": written}, text)
        working.aggregate(seq, selector, group_by, functions)
        for name, _ in functions:
            self.scope.setdefault(name, x.decimal(6))

    def _expand(self, seq: int, working: Working) -> None:
        name = self.random.choice(["rates", "targets"])
        key, other = x.column(None, "region", x.STRING, "region"), x.column("fx", "code", x.STRING, "fx.code")
        on = self.random.choice([x.compare("=", key, other), x.literal(True), x.compare("<", other, key)])
        pair = Join("fx", self.tables[name], on)
        text, selector = self._selector([])
        columns = [self._assignment(name, [pair]) for name in self._targets()]
        expand = {"alias": "fx", "on": on.text, "columns": [{"column": n, "expression": e.text} for n, e in columns]}
        arguments: dict[str, object] = {"source": {"dataset_id": name}, "add_columns": True, "expand": expand}
        self._add(seq, "append", arguments, text)
        working.expand(seq, pair, selector, columns)
        for column, expression in columns:
            self.scope.setdefault(column, expression.kind)

    def _append(self, seq: int, working: Working) -> None:
        source = self.tables["budget"]
        arguments: dict[str, object] = {"source": {"dataset_id": "budget"}}
        selector = None
        if self.random.random() < 0.5:
            amount = x.column(None, "amount", x.decimal(2), self.random.choice(["amount", "budget_rows.amount"]))
            region = x.column(None, "region", x.STRING, "region")
            selector = x.logical_or(x.compare(">", amount, x.literal(0)), x.is_null(region))
            arguments["source_selector"] = selector.text
        group_by: list[str] = []
        functions: list[tuple[str, Callable[[list[Record]], object]]] = []
        if self.random.random() < 0.4:
            group_by = ["region"]
            written, functions = self._aggregations(["amount", "qty"], ["amount", "qty"])
            arguments["aggregation"] = {"group_by": group_by, "aggregations": written}
        self._add(seq, "append", arguments)
        working.append(seq, source, selector, group_by, functions)

    def _delete(self, seq: int, working: Working) -> None:
        text, selector = self._selector([])
        if selector is None:
            selector = x.is_null(x.column(None, "amount", x.decimal(2), "amount"))
            text = selector.text
        self._add(seq, "delete", {}, text)
        working.delete(selector)

    def _output(self, seq: int, working: Working) -> None:
        text, selector = self._selector([])
        include_deleted = self.random.random() < 0.3
        everything = [
            *working.table.columns,
            *working.added,
            "_source_dataset",
            "_operation_seq",
            "_created_at",
            "_updated_at",
            "_deleted",
            "_labels",
        ]
        everything += ["_period_from", "_period_to"] if working.table.mode == "bitemporal" else ["_period"]
        columns = (
            self.random.sample(everything, self.random.randint(2, len(everything)))
            if self.random.random() < 0.5
            else None
        )
        self._write_output(seq, text, include_deleted, columns)
        self.project.outputs[seq] = working.output(selector, include_deleted)
        self.project.output_columns[seq] = columns or everything

    def _write_output(self, seq: int, selector: str | None, include_deleted: bool, columns: list[str] | None) -> None:
        arguments: dict[str, object] = {
            "destination": {"type": "parquet", "path": f"out/{seq}"},
            "include_deleted": include_deleted,
        }
        self._add(seq, "output", arguments | ({"columns": columns} if columns else {}), selector)


def _declare(kind: str) -> dict[str, object]:
    if not kind.startswith("decimal"):
        return {"type": kind}
    precision, scale = kind[8:-1].split(",")
    return {"type": "decimal", "precision": int(precision), "scale": int(scale)}


def _const(value: Decimal | int, scale: int | None = None) -> Expr:
    return Expr("", Kind("number", scale), lambda row: Decimal(value))


def _fold(rows: list[Record], column: str, function: Callable[[list[Decimal]], object]) -> object:
    values = [value for row in rows if isinstance(value := row[column], Decimal)]
    return function(values) if values else None
