"""The functions of the language's second part, on Python's own values: texts, conversions, rounding, days, branches."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_UP, Decimal

from tests.reference.expressions import (
    BOOLEAN,
    DATE,
    EXACT,
    INTEGER,
    STRING,
    Expr,
    Kind,
    Row,
    call,
    decimal,
    literal,
    quote,
    strict,
    widest,
)

PLAIN_NUMBER = re.compile(r" *-?[0-9]+(\.[0-9]+)? *")
PLAIN_DATE = re.compile(r" *[0-9]{4}-[0-9]{2}-[0-9]{2} *")


class DataFailure(Exception):
    """A value that the language refuses at run time."""


# Branches


def case(branches: Sequence[tuple[Expr, Expr]], otherwise: Expr | None) -> Expr:
    def evaluate(row: Row) -> object:
        for condition, value in branches:
            if condition.evaluate(row) is True:
                return value.evaluate(row)
        return None if otherwise is None else otherwise.evaluate(row)

    listed = " ".join(f"WHEN {condition.text} THEN {value.text}" for condition, value in branches)
    return _close_case("CASE", listed, [value for _, value in branches], otherwise, evaluate)


def case_of(subject: Expr, branches: Sequence[tuple[Expr, Expr]], otherwise: Expr | None) -> Expr:
    def evaluate(row: Row) -> object:
        found = subject.evaluate(row)
        for wanted, value in branches:
            if found is not None and wanted.evaluate(row) == found:
                return value.evaluate(row)
        return None if otherwise is None else otherwise.evaluate(row)

    listed = " ".join(f"WHEN {wanted.text} THEN {value.text}" for wanted, value in branches)
    return _close_case(f"CASE {subject.text}", listed, [value for _, value in branches], otherwise, evaluate)


def _close_case(
    begin: str, branches: str, values: list[Expr], otherwise: Expr | None, evaluate: Callable[[Row], object]
) -> Expr:
    last = f" ELSE {otherwise.text}" if otherwise is not None else ""
    kind = widest(*values, *([otherwise] if otherwise is not None else []))
    return Expr(f"{begin} {branches}{last} END", kind, evaluate, atom=True)


def nullif(a: Expr, b: Expr) -> Expr:
    def evaluate(row: Row) -> object:
        value = a.evaluate(row)
        return None if value is not None and value == b.evaluate(row) else value

    return Expr(f"NULLIF({a.text}, {b.text})", a.kind, evaluate, atom=True)


# Texts


def like(a: Expr, pattern: str, *, escape: str | None = None, negated: bool = False) -> Expr:
    expression, position = "", 0
    while position < len(pattern):
        letter = pattern[position]
        if letter == escape:
            position += 1
            expression += re.escape(pattern[position])
        else:
            expression += {"%": ".*", "_": "."}.get(letter, re.escape(letter))
        position += 1
    matches = re.compile(expression, re.DOTALL).fullmatch
    text = f"{a.inside()} {'NOT ' if negated else ''}LIKE {quote(pattern)}"
    return Expr(
        text + (f" ESCAPE {quote(escape)}" if escape else ""),
        BOOLEAN,
        strict(lambda s: (matches(s) is not None) != negated, a),
    )


def starts_with(a: Expr, part: Expr) -> Expr:
    return call("STARTS_WITH", BOOLEAN, str.startswith, a, part)


def ends_with(a: Expr, part: Expr) -> Expr:
    return call("ENDS_WITH", BOOLEAN, str.endswith, a, part)


def substring(a: Expr, first: int, count: int | None) -> Expr:
    start = max(first, 1) - 1
    if count is None:
        return call("SUBSTRING", STRING, lambda s, _: s[start:], a, literal(first))
    return call(
        "SUBSTRING", STRING, lambda s, _, n: s[start : start + max(int(n), 0)], a, literal(first), literal(count)
    )


def position(part: Expr, a: Expr) -> Expr:
    return call("POSITION", INTEGER, lambda p, s: Decimal(s.find(p) + 1), part, a)


def pad(name: str, a: Expr, count: int, fill: str) -> Expr:
    def fill_up(s: str, n: Decimal, letter: str) -> str:
        more = letter * max(int(n) - len(s), 0)
        return more + s if name == "PAD_LEFT" else s + more

    return call(name, STRING, fill_up, a, literal(count), literal(fill))


def joined(*parts: Expr) -> Expr:
    return Expr(" || ".join(part.inside() for part in parts), STRING, strict(lambda *s: "".join(s), *parts))


# Conversions


def text_of(a: Expr) -> Expr:
    """The kind's scale must be that of the type: of a literal, or of a declared column."""

    def show(value: object) -> str:
        if isinstance(value, bool):
            return "TRUE" if value else "FALSE"
        if isinstance(value, Decimal):
            return format(value.quantize(Decimal(1).scaleb(-(a.kind.scale or 0)), context=EXACT), "f")
        assert isinstance(value, date)
        return value.isoformat()

    return call("TEXT", STRING, show, a)


def read_number(text: str, precision: int, scale: int) -> Decimal | None:
    if PLAIN_NUMBER.fullmatch(text) is None:
        return None
    value = Decimal(text.strip(" "))
    rounded = value.quantize(Decimal(1).scaleb(-scale), rounding=ROUND_DOWN, context=EXACT)
    return rounded if rounded == value and abs(rounded) < Decimal(10) ** (precision - scale) else None


def read_integer(text: str) -> Decimal | None:
    if "." in text or PLAIN_NUMBER.fullmatch(text) is None:
        return None
    value = Decimal(text.strip(" "))
    return value if -(2**63) <= value < 2**63 else None


def read_date(text: str) -> date | None:
    if PLAIN_DATE.fullmatch(text) is None:
        return None
    try:
        return date.fromisoformat(text.strip(" "))
    except ValueError:
        return None


def number_of(a: Expr, precision: int, scale: int, *, tries: bool) -> Expr:
    function = _convert(lambda s, *_: read_number(s, precision, scale), tries)
    return call("TRY_NUMBER" if tries else "NUMBER", decimal(scale), function, a, literal(precision), literal(scale))


def integer_of(a: Expr, *, tries: bool) -> Expr:
    return call("TRY_INTEGER" if tries else "INTEGER", INTEGER, _convert(read_integer, tries), a)


def date_of(a: Expr, *, tries: bool) -> Expr:
    return call("TRY_DATE" if tries else "DATE", DATE, _convert(read_date, tries), a)


def _convert(read: Callable[..., object], tries: bool) -> Callable[..., object]:
    def convert(*values: object) -> object:
        found = read(*values)
        if found is None and not tries:
            raise DataFailure(str(values))
        return found

    return convert


# Numbers

ROUNDINGS = {"ROUNDUP": ROUND_UP, "ROUNDDOWN": ROUND_DOWN, "ROUND_EVEN": ROUND_HALF_EVEN}


def round_as(name: str, a: Expr, digits: int) -> Expr:
    kind = INTEGER if a.kind.scale is None else decimal(digits)
    unit = Decimal(1).scaleb(-digits)
    return call(name, kind, lambda v, _: v.quantize(unit, rounding=ROUNDINGS[name], context=EXACT), a, literal(digits))


def sign(a: Expr) -> Expr:
    return call("SIGN", INTEGER, lambda v: Decimal((v > 0) - (v < 0)), a)


def power(a: Expr, n: int) -> Expr:
    def multiply(value: Decimal, _: Decimal) -> Decimal:
        product = Decimal(1)
        for _time in range(n):
            product = EXACT.multiply(product, value)
        return product

    return call("POWER", a.kind if a.kind.scale is None else decimal(a.kind.scale * n), multiply, a, literal(n))


# Days


def add_months(day: date, months: int) -> date:
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return date(year, month + 1, min(day.day, calendar.monthrange(year, month + 1)[1]))


def count_months(end: date, start: date) -> int:
    if end < start:
        return -count_months(start, end)
    found = 0
    while add_months(start, found + 1) <= end:
        found += 1
    return found


def truncate(unit: str, day: date) -> date:
    if unit == "week":
        return day - timedelta(days=day.weekday())
    months = {"year": 1, "quarter": (day.month - 1) // 3 * 3 + 1, "month": day.month}
    return date(day.year, months[unit], 1)


def months_later(a: Expr, months: int) -> Expr:
    return call("ADDMONTHS", DATE, lambda d, n: add_months(d, int(n)), a, literal(months))


def month_end(a: Expr, months: int | None) -> Expr:
    def find(day: date, later: Decimal = Decimal(0)) -> date:
        return add_months(day.replace(day=1), int(later) + 1) - timedelta(days=1)

    return call("EOMONTH", DATE, find, a, *([] if months is None else [literal(months)]))


def months_between(end: Expr, start: Expr) -> Expr:
    return call("MONTHS_BETWEEN", INTEGER, lambda e, s: Decimal(count_months(e, s)), end, start)


def quarter(a: Expr) -> Expr:
    return call("QUARTER", INTEGER, lambda d: Decimal((d.month + 2) // 3), a)


def weekday(a: Expr) -> Expr:
    return call("WEEKDAY", INTEGER, lambda d: Decimal(d.isoweekday()), a)


def year(a: Expr) -> Expr:
    return call("YEAR", INTEGER, lambda d: Decimal(d.year), a)


def date_trunc(unit: str, a: Expr) -> Expr:
    return call("DATE_TRUNC", DATE, truncate, literal(unit), a)


def constant(name: str, kind: Kind, value: object) -> Expr:
    return Expr(f"{name}()", kind, lambda row: value, atom=True)
