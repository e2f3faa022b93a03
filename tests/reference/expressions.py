"""Expression trees that can be written as text and evaluated, with SQL's three-valued logic."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal

EXACT = Context(prec=200, rounding=ROUND_HALF_UP)
Row = Mapping[tuple[str | None, str], object]


@dataclass(frozen=True)
class Kind:
    """string, number, boolean or date; `scale` is that of a number, None for an integer."""

    name: str
    scale: int | None = None


STRING, BOOLEAN, DATE, INTEGER = Kind("string"), Kind("boolean"), Kind("date"), Kind("number")


def decimal(scale: int) -> Kind:
    return Kind("number", scale)


@dataclass(frozen=True)
class Expr:
    """Text for the engine, a function for us, and the kind of the result."""

    text: str
    kind: Kind
    evaluate: Callable[[Row], object]
    atom: bool = False

    def inside(self) -> str:
        return self.text if self.atom else f"({self.text})"


def round_half_up(value: Decimal, scale: int) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-scale), rounding=ROUND_HALF_UP, context=EXACT)


def quote(text: str, mark: str = '"') -> str:
    return mark + text.replace(mark, mark * 2) + mark


def column(alias: str | None, name: str, kind: Kind, shown: str) -> Expr:
    return Expr(shown, kind, lambda row: row[alias, name], atom=True)


def literal(value: object, mark: str = '"') -> Expr:
    if value is None:
        return Expr("NULL", STRING, lambda row: None, atom=True)
    if isinstance(value, bool):
        return Expr("TRUE" if value else "FALSE", BOOLEAN, lambda row: value, atom=True)
    if isinstance(value, str):
        return Expr(quote(value, mark), STRING, lambda row: value, atom=True)
    if isinstance(value, date):
        return Expr(f'DATE("{value.isoformat()}")', DATE, lambda row: value, atom=True)
    number = Decimal(str(value))
    scale = None if isinstance(value, int) else -int(number.as_tuple().exponent)
    # A negative literal is a unary minus and must not meet another operator bare.
    return Expr(str(value), Kind("number", scale), lambda row: number, atom=number >= 0)


def strict(function: Callable[..., object], *args: Expr) -> Callable[[Row], object]:
    def evaluate(row: Row) -> object:
        values = [arg.evaluate(row) for arg in args]
        return None if any(value is None for value in values) else function(*values)

    return evaluate


def widest(*args: Expr) -> Kind:
    scales = [arg.kind.scale for arg in args if arg.kind.scale is not None]
    return Kind(args[0].kind.name, max(scales) if scales else None)


def arithmetic(operator: str, a: Expr, b: Expr) -> Expr:
    functions = {"+": EXACT.add, "-": EXACT.subtract, "*": EXACT.multiply}
    if operator == "*" and (a.kind.scale is not None or b.kind.scale is not None):
        kind = decimal((a.kind.scale or 0) + (b.kind.scale or 0))
    else:
        kind = widest(a, b)
    return Expr(f"{a.inside()} {operator} {b.inside()}", kind, strict(functions[operator], a, b))


def divide(a: Expr, b: Expr) -> Expr:
    scale = max(6, (a.kind.scale or 0) + 4)
    return Expr(f"{a.inside()} / {b.inside()}", decimal(scale), strict(lambda x, y: divide_exactly(x, y, scale), a, b))


def divide_exactly(x: Decimal, y: Decimal, scale: int) -> Decimal | None:
    if y == 0:
        return None
    # Whole numbers only: the nearest multiple of 10^-scale, halves away from zero.
    ratio_top, ratio_bottom = _as_integers(EXACT.scaleb(x, scale), y)
    magnitude = (2 * abs(ratio_top) + abs(ratio_bottom)) // (2 * abs(ratio_bottom))
    sign = -1 if (ratio_top < 0) != (ratio_bottom < 0) else 1
    return EXACT.scaleb(Decimal(sign * magnitude), -scale)


def _as_integers(a: Decimal, b: Decimal) -> tuple[int, int]:
    top, bottom = a.as_integer_ratio(), b.as_integer_ratio()
    return top[0] * bottom[1], top[1] * bottom[0]


def negate(a: Expr) -> Expr:
    return Expr(f"-{a.inside()}", a.kind, strict(EXACT.minus, a))


def compare(operator: str, a: Expr, b: Expr) -> Expr:
    functions: dict[str, Callable[..., bool]] = {
        "=": lambda x, y: x == y,
        "!=": lambda x, y: x != y,
        "<>": lambda x, y: x != y,
        # Python orders strings by code point, as the language does.
        "<": lambda x, y: x < y,
        "<=": lambda x, y: x <= y,
        ">": lambda x, y: x > y,
        ">=": lambda x, y: x >= y,
    }
    return Expr(f"{a.inside()} {operator} {b.inside()}", BOOLEAN, strict(functions[operator], a, b))


def logical_and(a: Expr, b: Expr) -> Expr:
    def evaluate(row: Row) -> object:
        values = (a.evaluate(row), b.evaluate(row))
        return False if False in values else None if None in values else True

    return Expr(f"{a.inside()} AND {b.inside()}", BOOLEAN, evaluate)


def logical_or(a: Expr, b: Expr) -> Expr:
    def evaluate(row: Row) -> object:
        values = (a.evaluate(row), b.evaluate(row))
        return True if True in values else None if None in values else False

    return Expr(f"{a.inside()} OR {b.inside()}", BOOLEAN, evaluate)


def logical_not(a: Expr) -> Expr:
    return Expr(f"NOT {a.inside()}", BOOLEAN, strict(lambda value: not value, a))


def is_null(a: Expr, negated: bool = False) -> Expr:
    text = f"{a.inside()} IS {'NOT ' if negated else ''}NULL"
    return Expr(text, BOOLEAN, lambda row: (a.evaluate(row) is None) != negated)


def one_of(a: Expr, options: Sequence[Expr], negated: bool = False) -> Expr:
    def evaluate(row: Row) -> object:
        value, values = a.evaluate(row), [option.evaluate(row) for option in options]
        if value is None:
            return None
        found = True if value in [v for v in values if v is not None] else None if None in values else False
        return found if found is None else found != negated

    listed = ", ".join(option.text for option in options)
    return Expr(f"{a.inside()} {'NOT ' if negated else ''}IN ({listed})", BOOLEAN, evaluate)


def between(a: Expr, low: Expr, high: Expr) -> Expr:
    both = logical_and(compare(">=", a, low), compare("<=", a, high))
    return Expr(f"{a.inside()} BETWEEN {low.inside()} AND {high.inside()}", BOOLEAN, both.evaluate)


def call(name: str, kind: Kind, function: Callable[..., object], *args: Expr) -> Expr:
    listed = ", ".join(arg.text for arg in args)
    return Expr(f"{name}({listed})", kind, strict(function, *args), atom=True)


def if_(condition: Expr, a: Expr, b: Expr) -> Expr:
    return Expr(
        f"IF({condition.text}, {a.text}, {b.text})",
        widest(a, b),
        lambda row: a.evaluate(row) if condition.evaluate(row) is True else b.evaluate(row),
        atom=True,
    )


def coalesce(*args: Expr) -> Expr:
    def evaluate(row: Row) -> object:
        return next((value for value in (arg.evaluate(row) for arg in args) if value is not None), None)

    return Expr(f"COALESCE({', '.join(arg.text for arg in args)})", widest(*args), evaluate, atom=True)


def round_(a: Expr, digits: int) -> Expr:
    kind = INTEGER if a.kind.scale is None else decimal(digits)
    return Expr(f"ROUND({a.text}, {digits})", kind, strict(lambda value: round_half_up(value, digits), a), atom=True)


def floor(a: Expr) -> Expr:
    return call("FLOOR", a.kind if a.kind.scale is None else decimal(0), lambda v: _whole(v, ROUND_FLOOR), a)


def ceil(a: Expr) -> Expr:
    return call("CEIL", a.kind if a.kind.scale is None else decimal(0), lambda v: _whole(v, ROUND_CEILING), a)


def _whole(value: Decimal, rounding: str) -> Decimal:
    return value.quantize(Decimal(1), rounding=rounding, context=EXACT)


def mod(a: Expr, b: Expr) -> Expr:
    def remainder(x: Decimal, y: Decimal) -> Decimal | None:
        if y == 0:
            return None
        whole = EXACT.divide(x, y).quantize(Decimal(1), rounding=ROUND_DOWN, context=EXACT)
        return EXACT.subtract(x, EXACT.multiply(whole, y))

    return call("MOD", widest(a, b), remainder, a, b)


def absolute(a: Expr) -> Expr:
    return call("ABS", a.kind, EXACT.abs, a)


def least(*args: Expr) -> Expr:
    return call("MIN", widest(*args), min, *args)


def greatest(*args: Expr) -> Expr:
    return call("MAX", widest(*args), max, *args)


def concat(*args: Expr) -> Expr:
    return call("CONCAT", STRING, lambda *parts: "".join(parts), *args)


def left(a: Expr, count: int) -> Expr:
    return call("LEFT", STRING, lambda s, n: s[: int(n)] if n >= 1 else "", a, literal(count))


def right(a: Expr, count: int) -> Expr:
    return call("RIGHT", STRING, lambda s, n: s[-int(n) :] if n >= 1 else "", a, literal(count))


def trim(a: Expr) -> Expr:
    return call("TRIM", STRING, lambda s: s.strip(" "), a)


def replace(a: Expr, old: str, new: str) -> Expr:
    return call("REPLACE", STRING, lambda s, o, n: s.replace(o, n) if o else s, a, literal(old), literal(new))


def length(a: Expr) -> Expr:
    return call("LEN", INTEGER, lambda s: Decimal(len(s)), a)


def contains(a: Expr, part: str) -> Expr:
    return call("CONTAINS", BOOLEAN, lambda s, p: p in s, a, literal(part))


def upper(a: Expr) -> Expr:
    return call("UPPER", STRING, str.upper, a)


def date_add(a: Expr, days: int) -> Expr:
    return call("DATEADD", DATE, lambda d, n: d + timedelta(days=int(n)), a, literal(days))


def date_difference(a: Expr, b: Expr) -> Expr:
    return call("DATEDIFF", INTEGER, lambda x, y: Decimal((x - y).days), a, b)


def month(a: Expr) -> Expr:
    return call("MONTH", INTEGER, lambda d: Decimal(d.month), a)
