"""Group functions on lists: each row of those that an update touches learns something of its group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from tests.reference.expressions import EXACT, INTEGER, Expr, Kind, Row, decimal, divide_exactly
from tests.reference.functions import DataFailure

TOUCHED = ("", "touched")
"""Where a row finds all rows that its operation touches."""
Values = Callable[[list[Row]], list[object]]


class Undetermined(Exception):
    """The result depends on ids of rows that only the engine knows."""


@dataclass(frozen=True)
class Window:
    """What makes a group, and how its rows are ordered."""

    keys: Sequence[Expr] = ()
    order: Expr | None = None
    descending: bool = False

    @property
    def text(self) -> str:
        order = f" ORDER {self.order.text}" if self.order is not None else ""
        keys = f" BY {', '.join(key.text for key in self.keys)}" if self.keys else ""
        return order + (" DESC" if self.descending else "") + keys

    def split(self, rows: Sequence[Row]) -> list[list[Row]]:
        groups: dict[tuple[object, ...], list[Row]] = {}
        for row in rows:
            groups.setdefault(tuple(key.evaluate(row) for key in self.keys), []).append(row)
        return list(groups.values())

    def sort(self, rows: list[Row]) -> list[Row]:
        assert self.order is not None
        known = [(self.order.evaluate(row), row) for row in rows]
        places = sorted({value for value, _ in known if value is not None}, reverse=self.descending)  # type: ignore[type-var]
        sorted_rows = []
        for place in [*places, None]:
            sorted_rows += sort_by_id([row for value, row in known if value == place])
        return sorted_rows


def sort_by_id(rows: list[Row]) -> list[Row]:
    ids = [row[None, "_row_id"] for row in rows]
    if len(rows) > 1 and None in ids:
        raise Undetermined
    return sorted(rows, key=lambda row: str(row[None, "_row_id"])) if len(rows) > 1 else rows


@dataclass
class _Call:
    """Computes the values of all touched rows with the first one that asks."""

    window: Window
    values: Values
    rows: Sequence[Row] = ()
    found: dict[int, object] = field(default_factory=dict)

    def __call__(self, row: Row) -> object:
        rows = row[TOUCHED]
        if rows is not self.rows:
            assert isinstance(rows, list)
            self.rows, self.found = rows, {}
            for group in self.window.split(rows):
                self.found |= {id(one): value for one, value in zip(group, self.values(group), strict=True)}
        return self.found[id(row)]


def _call(name: str, shown: str, kind: Kind, window: Window, values: Values) -> Expr:
    return Expr(f"{name}({shown}{window.text})", kind, _Call(window, values), atom=True)


def _add(values: Sequence[object]) -> Decimal | None:
    known = [value for value in values if isinstance(value, Decimal)]
    total = Decimal(0)
    for value in known:
        total = EXACT.add(total, value)
    return total if known else None


def total(x: Expr, window: Window) -> Expr:
    return _call("TOTAL", x.text, x.kind, window, lambda rows: [_add([x.evaluate(row) for row in rows])] * len(rows))


def share(x: Expr, window: Window) -> Expr:
    """The kind's scale must be that of the type."""
    scale = max(6, (x.kind.scale or 0) + 4)

    def values(rows: list[Row]) -> list[object]:
        found = [x.evaluate(row) for row in rows]
        whole = _add(found)
        return [
            divide_exactly(value, whole, scale) if isinstance(value, Decimal) and whole else None for value in found
        ]

    return _call("SHARE", x.text, decimal(scale), window, values)


def rank(x: Expr, window: Window) -> Expr:
    def is_before(a: object, b: object) -> bool:
        return bool(a > b) if window.descending else bool(a < b)  # type: ignore[operator]

    def values(rows: list[Row]) -> list[object]:
        found = [x.evaluate(row) for row in rows]
        known = [value for value in found if value is not None]
        return [
            None if value is None else Decimal(1 + sum(is_before(other, value) for other in known)) for value in found
        ]

    return _call("RANK", x.text, INTEGER, window, values)


def running(x: Expr, window: Window) -> Expr:
    def along(rows: list[Row]) -> list[object]:
        found = [x.evaluate(row) for row in rows]
        return [_add(found[: place + 1]) for place in range(len(found))]

    return _call("RUNNING", x.text, x.kind, window, _in_order(window, along))


def previous(x: Expr, window: Window) -> Expr:
    def along(rows: list[Row]) -> list[object]:
        return [None, *(x.evaluate(row) for row in rows[:-1])]

    return _call("PREVIOUS_VALUE", x.text, x.kind, window, _in_order(window, along))


def _in_order(window: Window, along: Values) -> Values:
    def values(rows: list[Row]) -> list[object]:
        ordered = window.sort(rows)
        found = {id(row): value for row, value in zip(ordered, along(ordered), strict=True)}
        return [found[id(row)] for row in rows]

    return values


def allocate(amount: Expr, weight: Expr, window: Window) -> Expr:
    """The kind's scale of the amount must be that of the type."""

    def values(rows: list[Row]) -> list[object]:
        amounts = {amount.evaluate(row) for row in rows}
        if amounts == {None}:
            return [None] * len(rows)
        weights = [value if isinstance(value := weight.evaluate(row), Decimal) else Decimal(0) for row in rows]
        (whole,) = amounts if len(amounts) == 1 else (None,)
        if not isinstance(whole, Decimal) or min(weights) < 0 or not _add(weights):
            raise DataFailure(f"{amounts} over {weights}")
        return list(split(whole, amount.kind.scale or 0, weights, rows))

    return _call("ALLOCATE", f"{amount.text}, {weight.text}", amount.kind, window, values)


def split(amount: Decimal, scale: int, weights: Sequence[Decimal], rows: Sequence[Row]) -> list[Decimal]:
    """Split an amount in whole units of its last place; what is left goes to the largest remainders."""
    units, common = int(abs(amount).scaleb(scale)), max(-int(weight.as_tuple().exponent) for weight in weights)
    whole = [int(weight.scaleb(max(common, 0))) for weight in weights]
    parts = [units * weight // sum(whole) for weight in whole]
    rests = [units * weight % sum(whole) for weight in whole]
    left = units - sum(parts)
    order: list[int] = []
    for rest in sorted(set(rests), reverse=True):
        places = [place for place, found in enumerate(rests) if found == rest]
        if len(order) < left < len(order) + len(places):
            places.sort(key=lambda place: _get_id(rows[place]))
        order += places
    for place in order[:left]:
        parts[place] += 1
    assert sum(parts) == units
    return [Decimal(part if amount >= 0 else -part).scaleb(-scale) for part in parts]


def _get_id(row: Row) -> str:
    if row[None, "_row_id"] is None:
        raise Undetermined
    return str(row[None, "_row_id"])
