"""Random expressions over the columns of a project, with what each of them comes to."""

from __future__ import annotations

import random
from datetime import date
from decimal import Decimal

from tests.reference import expressions as x
from tests.reference import functions as f
from tests.reference.engine import Join, Table
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
SPELT = [
    "12.5",
    " -7 ",
    "1e5",
    "+3",
    "４",
    "-0.50",
    "7.",
    "99999999999",
    "2026-02-30",
    " 2026-02-14",
    "2026-2-1",
    "0012",
]
"""Texts that spell numbers and days, and that nearly do."""
PATTERNS = ["%", "A%", "_", "%e_%", "", "%🙂_", "it's", "%\\%"]
KINDS = {"string": x.STRING, "integer": x.INTEGER, "boolean": x.BOOLEAN, "date": x.DATE}


def kind_of(declared: str) -> Kind:
    return KINDS.get(declared) or x.decimal(int(declared[:-1].split(",")[1]))


class ExpressionGenerator:
    """Draws expressions over the working dataset, its lookup `team`, and joins."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.tables: dict[str, Table] = {}
        self.scope: dict[str, Kind] = {}

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
        return self._declared(self.random.choice(["amount", "qty"]))

    def _declared(self, name: str) -> Expr:
        return x.column(None, name, kind_of(self.tables["ledger"].columns[name]), name)

    def _maybe(self, expression: Expr) -> Expr | None:
        return self.random.choice([expression, None])

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
                *[lambda: self._number_of_second_part(joins, depth - 1, a, b)] * 8,
            ]
        )()

    def _number_of_second_part(self, joins: list[Join], depth: int, a: Expr, b: Expr) -> Expr:
        choose, text = self.random.choice, self._string(joins, 0)
        return choose(
            [
                lambda: f.case([(self._boolean(joins, depth), a), (self._boolean(joins, 0), b)], self._maybe(a)),
                lambda: f.case_of(text, [(self._string(joins, 0), a), (self._string(joins, 0), b)], self._maybe(b)),
                lambda: f.nullif(a, b),
                lambda: f.round_as(choose(list(f.ROUNDINGS)), a, self.random.randint(0, 3)),
                lambda: f.sign(a),
                lambda: f.power(self._small_number(joins), self.random.randint(0, 3)),
                lambda: f.position(self._string(joins, 0), text),
                lambda: choose([f.quarter, f.weekday, f.year, x.month])(self._date()),
                lambda: f.months_between(self._date(), self._date()),
                lambda: f.integer_of(f.text_of(self._declared("qty")), tries=False),
                lambda: f.number_of(f.text_of(self._declared("amount")), 20, 2, tries=choose([True, False])),
                lambda: f.number_of(self._spelt(joins), 9, self.random.randint(0, 2), tries=True),
                lambda: f.integer_of(self._spelt(joins), tries=True),
                lambda: f.constant("PERIOD_DAYS", x.INTEGER, Decimal(28)),
            ]
        )()

    def _spelt(self, joins: list[Join]) -> Expr:
        """Return a text that may spell a number or a day."""
        spelt = x.literal(self.random.choice(SPELT))
        return x.if_(self._boolean(joins, 0), spelt, self.random.choice([self._string(joins, 0), spelt]))

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
                *[lambda: self._string_of_second_part(joins, depth - 1, a, b)] * 5,
            ]
        )()

    def _string_of_second_part(self, joins: list[Join], depth: int, a: Expr, b: Expr) -> Expr:
        choose, draw = self.random.choice, self.random.randint
        return choose(
            [
                lambda: f.case([(self._boolean(joins, depth), a), (self._boolean(joins, 0), b)], self._maybe(a)),
                lambda: f.case_of(self._string(joins, 0), [(a, b), (self._string(joins, 0), a)], self._maybe(b)),
                lambda: f.nullif(a, b),
                lambda: f.substring(a, draw(-2, 5), choose([None, draw(-1, 4)])),
                lambda: f.pad(choose(["PAD_LEFT", "PAD_RIGHT"]), a, draw(-1, 8), choose(["0", " ", "🙂", "'"])),
                lambda: f.joined(a, b),
                lambda: f.text_of(choose([self._declared_number(), self._date(), x.literal(Decimal("-1.50"))])),
                lambda: f.text_of(x.column(None, "flag", x.BOOLEAN, "flag")),
                lambda: f.constant("PERIOD_ID", x.STRING, "2026-02"),
                lambda: f.constant("PREVIOUS_PERIOD_ID", x.STRING, "2026-01"),
            ]
        )()

    def _date(self) -> Expr:
        posted, draw = x.column(None, "posted", x.DATE, "posted"), self.random.randint
        return self.random.choice(
            [
                lambda: posted,
                lambda: x.literal(date(2026, 2, 14)),
                lambda: x.date_add(posted, draw(-40, 40)),
                lambda: f.months_later(posted, draw(-14, 14)),
                lambda: f.month_end(posted, self.random.choice([None, draw(-3, 3)])),
                lambda: f.date_trunc(self.random.choice(["year", "quarter", "month", "week"]), posted),
                lambda: f.date_of(f.text_of(posted), tries=self.random.choice([True, False])),
                lambda: f.date_of(self._spelt([]), tries=True),
                lambda: f.nullif(posted, f.constant("PERIOD_START", x.DATE, date(2026, 2, 1))),
                lambda: f.constant("PERIOD_END", x.DATE, date(2026, 2, 28)),
                lambda: f.constant("TODAY", x.DATE, date(2026, 3, 1)),
            ]
        )()

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
                    lambda: f.like(self._string(joins, 0), choose(PATTERNS), negated=choose([True, False])),
                    lambda: f.like(self._string(joins, 0), "100!%!_", escape="!"),
                    lambda: choose([f.starts_with, f.ends_with])(self._string(joins, 0), self._string(joins, 0)),
                ]
            )()
        a, b = self._boolean(joins, depth - 1), self._boolean(joins, depth - 1)
        return choose(
            [
                lambda: x.logical_and(a, b),
                lambda: x.logical_or(a, b),
                lambda: x.logical_not(a),
                lambda: x.coalesce(a, b),
                lambda: f.case([(a, b), (b, self._boolean(joins, 0))], self._maybe(a)),
                lambda: a,
            ]
        )()
