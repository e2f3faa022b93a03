"""Random group functions, and what is made of them."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from tests.reference import expressions as x
from tests.reference import functions as f
from tests.reference import groups as g
from tests.reference.drawing import ExpressionGenerator
from tests.reference.engine import Join
from tests.reference.expressions import Expr


class GroupGenerator(ExpressionGenerator):
    """Draws group functions; whether the ids of all rows are known decides which."""

    has_ids = False
    """Whether the ids of loaded rows are in the data."""
    sees_only_loaded = True
    """Whether the operation can touch only rows that were loaded."""

    def _group_number(self, joins: list[Join]) -> Expr:
        """Draw a number that depends on a group."""
        found = self._group_function(joins)
        return self.random.choice(
            [
                lambda: found,
                lambda: x.arithmetic("-", self._declared("amount"), found),
                lambda: x.coalesce(found, x.literal(0)),
                lambda: x.round_(found, 1),
                lambda: x.if_(x.is_null(found), x.literal(-1), found),
            ]
        )()

    def _group_string(self, joins: list[Join]) -> Expr:
        texts = [self._string(joins, 1)]
        place = g.rank(self._number(joins, 0), self._window(joins, may_descend=True))
        options: list[Callable[[], Expr]] = [lambda: x.if_(x.compare("<=", place, x.literal(2)), *texts, x.literal(""))]
        if self.sees_only_loaded:
            options.append(lambda: g.previous(texts[0], self._ordered(joins)))
        return self.random.choice(options)()

    def _group_boolean(self, joins: list[Join]) -> Expr:
        place = g.rank(self._string(joins, 0), self._window(joins, may_descend=True))
        whole = g.total(self._number(joins, 0), self._window(joins))
        return self.random.choice([x.compare("=", place, x.literal(1)), x.compare(">", whole, x.literal(0))])

    def _group_function(self, joins: list[Join]) -> Expr:
        options: list[Callable[[], Expr]] = [
            lambda: g.total(self._number(joins, 1), self._window(joins)),
            lambda: g.share(self._declared_number(), self._window(joins)),
            lambda: g.rank(self._group_subject(joins), self._window(joins, may_descend=True)),
        ]
        if self.sees_only_loaded:
            options += [
                lambda: g.running(self._number(joins, 1), self._ordered(joins)),
                lambda: g.running(self._number(joins, 1), self._ordered(joins)),
                lambda: g.previous(self._number(joins, 1), self._ordered(joins)),
                lambda: self._allocation(joins),
                lambda: self._allocation(joins),
            ]
        return self.random.choice(options)()

    def _group_subject(self, joins: list[Join]) -> Expr:
        return self.random.choice([self._number(joins, 1), self._string(joins, 1), self._date()])

    def _allocation(self, joins: list[Join]) -> Expr:
        choose, amount = self.random.choice, self._declared("amount")
        weight = choose(
            [
                x.absolute(self._declared_number()),
                x.arithmetic("+", x.absolute(self._declared_number()), x.literal(Decimal("0.01"))),
                x.if_(self._boolean(joins, 0), x.literal(1), x.literal(Decimal("2.5"))),
                x.arithmetic("+", x.coalesce(x.absolute(self._number(joins, 0)), x.literal(0)), x.literal(1)),
                x.literal(1),
                self._declared_number(),
            ]
        )
        shared = choose([amount, x.column(None, "qty", x.INTEGER, "qty")])
        constant = x.literal(Decimal(self.random.randint(0, 10**6)).scaleb(-2))
        return choose(
            [
                lambda: g.allocate(constant, weight, self._window(joins)),
                lambda: g.allocate(x.negate(constant), weight, self._window(joins)),
                lambda: g.allocate(f.constant("PERIOD_DAYS", x.INTEGER, Decimal(28)), weight, self._window(joins)),
                lambda: g.allocate(shared, weight, g.Window([shared, *self._window(joins).keys])),
            ]
        )()

    def _window(self, joins: list[Join], *, may_descend: bool = False) -> g.Window:
        keys = [self._key(joins) for _ in range(self.random.choice([0, 1, 1, 1, 2]))]
        return g.Window(keys, None, may_descend and self.random.random() < 0.5)

    def _ordered(self, joins: list[Join]) -> g.Window:
        """Draw an order; without known ids one in which no two rows are equal."""
        keys = self._window(joins).keys
        order = x.column(None, "id", x.STRING, "id")
        if self.has_ids:
            order = self.random.choice([order, self._number(joins, 1), self._date(), self._string(joins, 1)])
        return g.Window(keys, order, self.random.random() < 0.5)

    def _key(self, joins: list[Join]) -> Expr:
        return self.random.choice(
            [
                lambda: x.column(None, "region", x.STRING, "region"),
                lambda: x.column(None, "flag", x.BOOLEAN, "flag"),
                lambda: x.column(None, "posted", x.DATE, "posted"),
                lambda: self._string(joins, 1),
                lambda: self._number(joins, 0),
                lambda: self._boolean(joins, 0),
            ]
        )()
