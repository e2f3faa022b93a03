"""Amounts, percentages and constants of checks: texts to exact digits."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation

from airflow_provider_runtime.core.model.base import read_as_date
from airflow_provider_runtime.core.model.schema import DataType
from airflow_provider_runtime.core.planning.check.checked import Limit

_NUMBER = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]{1,3})?")
LONGEST_AMOUNT = 400


def find_number(text: str) -> Decimal | None:
    """Return the number that a text is, exactly; None when it is not one."""
    if len(text) > LONGEST_AMOUNT or not _NUMBER.fullmatch(text.strip()):
        return None
    try:
        return Decimal(text.strip())
    except InvalidOperation:
        return None


def write_number(number: Decimal) -> str:
    """Return a number as plain digits."""
    return f"{number:f}" if number else "0"


def find_limit(text: str) -> Limit | None:
    """Return the amount or percentage that a text is; None when it is neither."""
    is_percent = text.rstrip().endswith("%")
    number = find_number(text.rstrip().removesuffix("%").rstrip() if is_percent else text)
    return None if number is None else Limit(write_number(number), is_percent)


def find_constant(text: str, data_type: DataType) -> str | None:
    """Return a constant as values of this type are written; None when it is not of the type."""
    if data_type.kind == "string":
        return text
    if data_type.kind in ("integer", "decimal"):
        number = find_number(text)
        return None if number is None else write_number(number)
    try:
        if data_type.kind == "date":
            return str(read_as_date(text).isoformat())
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        return None
    in_utc = moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
    return in_utc.isoformat() + "Z"


def read_constant(text: str, data_type: DataType) -> str | int | bool | Decimal | date | None:
    """Return the value of a type that a text is, exactly; None when it is not one, or does not fit."""
    if data_type.kind == "boolean":
        return {"true": True, "false": False}.get(text.lower())
    found = find_constant(text, data_type)
    if found is None or data_type.kind == "string":
        return found
    if data_type.kind == "date":
        return date.fromisoformat(found)
    if data_type.kind == "timestamp":
        return datetime.fromisoformat(found)
    number = Decimal(found)
    if data_type.kind == "integer":
        return int(number) if number == int(number) and -(2**63) <= number < 2**63 else None
    fits = number == round(number, data_type.scale) and abs(number) < 10 ** (data_type.precision - data_type.scale)
    return number if fits else None


def is_ordered(least: str, most: str, data_type: DataType) -> bool:
    """Whether two constants of a type are in order."""
    if data_type.kind in ("integer", "decimal"):
        return Decimal(least) <= Decimal(most)
    # ISO dates and timestamps sort by their characters, as texts do by code point.
    return least.removesuffix("Z") <= most.removesuffix("Z") if data_type.kind == "timestamp" else least <= most
