"""From the columns that a source has to the columns that its table declares: strictly, or not at all.

A type that cannot hold the declared values exactly is a mismatch of the schema (DATA_002), found before any row is
read. A value that is not one of its type is DATA_003, raised by the row that holds it, never a silent NULL.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spark_jobs.errors import quote_text, raise_sql

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql.types import DataType

SYSTEM_TYPES: dict[str, str] = {
    "_row_id": "string",
    "_source_dataset": "string",
    "_operation_seq": "bigint",
    "_created_by_run": "string",
    "_created_at": "timestamp",
    "_updated_at": "timestamp",
    "_deleted": "boolean",
    "_labels": "string",
    "_period": "string",
    "_period_from": "date",
    "_period_to": "date",
}
MAX_PRECISION = 38
_WHOLE_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_DATE_TEXT = r"^\\s*\\d{4}-\\d{2}-\\d{2}\\s*$"
_TIMESTAMP_TEXT = (
    r"^\\s*\\d{4}-\\d{2}-\\d{2}([ T]\\d{2}:\\d{2}(:\\d{2}([.]\\d{1,6})?)?(Z| ?UTC|[+-]\\d{2}(:?\\d{2})?)?)?\\s*$"
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A column that a table is to have: declared, temporal or system."""

    name: str
    type: str
    nullable: bool = True
    optional: bool = False


@dataclass(frozen=True, slots=True)
class TextFormats:
    """How a source writes dates and timestamps; None is ISO."""

    date: str | None = None
    timestamp: str | None = None
    empty_is_null: bool = False
    """That an empty text is NULL where it is not one of a string column."""


def quote_name(name: str) -> str:
    """Return a name as a Spark SQL identifier."""
    return "`" + name.replace("`", "``") + "`"


def parse_decimal(type_text: str) -> tuple[int, int] | None:
    """Return precision and scale of a decimal type, None for any other."""
    match = _DECIMAL.fullmatch(type_text)
    return (int(match[1]), int(match[2])) if match else None


def find_mismatches(wanted: Iterable[Wanted], physical: Mapping[str, DataType]) -> list[str]:
    """Return one sentence for every wanted column that is missing or of a type that does not fit."""
    found = []
    for column in wanted:
        kind = physical.get(column.name)
        if kind is None:
            if not column.optional:
                found.append(f"column '{column.name}' is missing")
        elif not is_readable(column.type, kind.simpleString()):
            found.append(f"column '{column.name}' is {kind.simpleString()}, declared as {describe_type(column.type)}")
    return found


def describe_type(type_text: str) -> str:
    """Return a type as people write it in a dataset."""
    return "integer" if type_text == "bigint" else type_text


def is_readable(declared: str, physical: str) -> bool:
    """Tell whether every value of the physical type is one of the declared type, or fails as a value."""
    if physical in (declared, "void"):
        return True
    target, source = parse_decimal(declared), parse_decimal(physical)
    if declared == "bigint":
        return physical in _WHOLE_DIGITS or (source is not None and source[1] == 0)
    if target is not None:
        return physical in _WHOLE_DIGITS or (source is not None and _holds(target, source))
    if declared == "timestamp":
        return physical == "timestamp_ntz"
    return declared == "string" and re.match(r"(var)?char\(|string", physical) is not None


def _holds(target: tuple[int, int], source: tuple[int, int]) -> bool:
    return source[1] <= target[1] and source[0] - source[1] <= target[0] - target[1]


def build_column(
    column: Wanted,
    reference: str,
    physical: str,
    *,
    mark: str,
    is_text: bool = False,
    formats: TextFormats | None = None,
) -> str:
    """Return SQL that reads one column as its declared type, failing on values that are none of it."""
    comment = f"/*@{mark}#{column.name}*/"
    if is_text:
        value = _cast_text(column, reference, comment, mark, formats or TextFormats())
    elif physical == column.type:
        value = reference
    elif column.type == "string":
        value = f"CAST({reference} AS string)"
    else:
        value = f"CAST({comment} {reference} AS {column.type})"
    if column.nullable:
        return value
    problem = raise_sql(
        "DATA_003", f"'NULL in column {column.name}, which is not nullable'", mark=mark, column=column.name
    )
    return f"CASE WHEN {reference} IS NULL THEN {problem} ELSE {value} END"


def _cast_text(column: Wanted, reference: str, comment: str, mark: str, formats: TextFormats) -> str:
    if column.type == "string":
        return reference
    if formats.empty_is_null:
        reference = f"nullif({reference}, '')"
    cast = f"CAST({comment} {reference} AS {column.type})"
    malformed = _raise_malformed(column, reference, mark)
    if column.type in ("date", "timestamp"):
        given = formats.date if column.type == "date" else formats.timestamp
        if given is not None:
            return f"to_{column.type}({comment} {reference}, {quote_text(given)})"
        pattern = _DATE_TEXT if column.type == "date" else _TIMESTAMP_TEXT
        return f"CASE WHEN NOT {reference} RLIKE '{pattern}' THEN {malformed} ELSE {cast} END"
    decimal = parse_decimal(column.type)
    return cast if decimal is None else _cast_decimal_text(decimal, reference, cast, comment, malformed)


def _cast_decimal_text(decimal: tuple[int, int], reference: str, cast: str, comment: str, malformed: str) -> str:
    """More digits after the point than declared are an error, not a rounding: compare with a reading that has room."""
    precision, scale = decimal
    room = MAX_PRECISION - (precision - scale)
    plain = rf"^\\s*[+-]?\\d*([.]\\d{{0,{scale}}}0*)?\\s*$"
    beyond = f"NOT {reference} RLIKE '{plain}'"
    if room > scale:
        exact = f"CAST({comment} {reference} AS decimal({MAX_PRECISION},{room}))"
        beyond = f"({exact} <> {cast} OR (length({reference}) > {room} AND {beyond}))"
    return f"CASE WHEN {beyond} THEN {malformed} ELSE {cast} END"


def _raise_malformed(column: Wanted, reference: str, mark: str) -> str:
    text = (
        f"concat('value ', substr({reference}, 1, 100), ' of column {column.name} is no {describe_type(column.type)}')"
    )
    return raise_sql("DATA_003", text, mark=mark, column=column.name)
