"""Expected values, read as the type of the column that they are compared with."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation

LONGEST_NUMBER = 400
Value = str | int | bool | Decimal | date | datetime | None


class ExpectedValueError(ValueError):
    """An expected value cannot be read as its column's type."""


def to_text(value: object) -> str | None:
    """Return the characters of a YAML scalar, or None for null."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(getattr(value, "text", value))


def read_value(value: object, column: str, type_name: str) -> Value:
    """Read an expected value as the column's type, so that 5, "5" and "5.00" are the same number."""
    text = to_text(value)
    if text is None:
        return None
    try:
        return _read(text, type_name)
    except (ValueError, InvalidOperation) as error:
        raise ExpectedValueError(f"column '{column}': '{text}' cannot be read as {type_name}") from error


def _read(text: str, type_name: str) -> Value:
    if type_name == "bigint" or type_name.startswith("decimal"):
        number = Decimal(text)
        # A number of more places than any column has would fill the memory with zeros once it is shown.
        return number if number.is_finite() and abs(number.adjusted()) < LONGEST_NUMBER else _refuse(text)
    if type_name == "boolean":
        return {"true": True, "false": False}[text.lower()] if text.lower() in ("true", "false") else _refuse(text)
    if type_name == "date":
        return date.fromisoformat(text)
    if type_name == "timestamp":
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return text


def _refuse(text: str) -> Value:
    raise ValueError(text)


def normalise_row(row: Mapping[str, object]) -> dict[str, Value]:
    """Return a row that Spark gave with numbers as Decimal and timestamps in UTC."""
    return {column: _normalise(value) for column, value in row.items()}


def _normalise(value: object) -> Value:
    if isinstance(value, int) and not isinstance(value, bool):
        return Decimal(value)
    if isinstance(value, datetime):
        # Spark hands out naive local times of the session's zone, which the job sets to UTC.
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    if value is None or isinstance(value, str | bool | Decimal | date):
        return value
    raise TypeError(f"unexpected value of type {type(value).__name__}")


def show_value(value: object) -> str | None:
    """Return a value as text for a report; None stays None."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, Decimal):
        return format(value, "f")
    return value.isoformat() if isinstance(value, date) else str(value)
