"""From the columns that a source has to the columns that its table declares: strictly, or not at all.

A type that cannot hold the declared values exactly is a mismatch of the schema (DATA_002), found before any row is
read. A value that is not one of its type is DATA_003, raised by the row that holds it, never a silent NULL.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spark_jobs.contract.sql import quote_text
from spark_jobs.contract.tables import parse_decimal
from spark_jobs.errors import raise_sql
from spark_jobs.sources.csv_lines import MOST_CHARACTERS_SHOWN

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql.types import DataType

MAX_PRECISION = 38
_WHOLE_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
_LARGEST_INTEGER = (1 << 63) - 1
_DATE_TEXT = r"^\\s*\\d{4}-\\d{2}-\\d{2}\\s*$"
_TIMESTAMP_TEXT = (
    r"^\\s*\\d{4}-\\d{2}-\\d{2}([ T]\\d{2}:\\d{2}(:\\d{2}([.]\\d{1,6})?)?(Z| ?UTC|[+-]\\d{2}(:?\\d{2})?)?)?\\s*$"
)
_SCIENTIFIC = r"^\\s*[+-]?(\\d*+)[.]?(\\d*+)[eE]([+-]?\\d{1,3})\\s*$"
_HUGE = r"[eE][+-]?+\\S{4}"
_ZERO = r"^\\s*[+-]?(?=[.]?0)0*+[.]?0*+[eE][+-]?\\d{1,3}\\s*$"
_TOO_MANY_PLACES = MAX_PRECISION + 1
_BOOLEAN_TEXT = r"^\\s*(?i:true|false)\\s*$"
_ROW_ID = "^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"
_YEARS = {
    "date": "DATE'0001-01-01' AND DATE'9999-12-31'",
    "timestamp": "TIMESTAMP_LTZ'0001-01-01 00:00:00Z' AND TIMESTAMP_LTZ'9999-12-31 23:59:59.999999Z'",
}
_REPLACEMENT = "\ufffd"


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
    was_decoded: bool = False
    """That a reader puts U+FFFD in place of bytes that it cannot decode."""
    file: str | None = None
    """SQL of the name of a row's file."""


def find_mismatches(wanted: Iterable[Wanted], physical: Mapping[str, DataType]) -> dict[str, str]:
    """Return by name what is wrong with each column of a type that does not fit."""
    found = {}
    for column in wanted:
        kind = physical[column.name].simpleString() if column.name in physical else column.type
        if not is_readable(column.type, kind):
            found[column.name] = f"column '{column.name}' is {kind}, declared as {describe_type(column.type)}"
    return found


def describe_type(type_text: str) -> str:
    """Return a type as people write it in a dataset."""
    return "integer" if type_text == "bigint" else type_text


def is_readable(declared: str, physical: str) -> bool:
    """Return whether every value of the physical type is one of the declared type, or fails as a value."""
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
    """Return SQL that reads one column as its declared type, failing on values that are not of that type."""
    reader = _Reader(column, mark, formats or TextFormats())
    if is_text and column.type != "string" and reader.formats.empty_is_null:
        reference = f"nullif({reference}, '')"
    if is_text:
        value = reader.read_text(reference)
    elif physical == column.type:
        value = reference
    elif column.type == "bigint" and physical not in _WHOLE_DIGITS and physical != "void":
        fits = f"{reference} BETWEEN {-_LARGEST_INTEGER - 1} AND {_LARGEST_INTEGER}"
        value = f"CASE WHEN NOT ({fits}) THEN {reader.refuse(reference)} ELSE CAST({reference} AS bigint) END"
    else:
        value = f"CAST({reference} AS {column.type})"
    if column.name == "_row_id":
        value = reader.read_row_id(value)
    if column.nullable:
        return value
    missing = reader.fail("'NULL, where none may be'")
    return f"CASE WHEN {reference} IS NULL THEN {missing} ELSE {value} END"


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads the values of one column, and says which one it cannot read."""

    column: Wanted
    mark: str
    formats: TextFormats

    def fail(self, message: str, value: str | None = None) -> str:
        """Return SQL that fails a row; message and value are SQL text expressions."""
        return raise_sql(
            "DATA_003",
            message,
            mark=self.mark,
            column=self.column.name,
            value_sql=value,
            file_sql=self.formats.file,
        )

    def refuse(self, reference: str) -> str:
        """Return SQL that fails a row on a value that is not of the column's type."""
        shown = f"substr(CAST({reference} AS string), 1, {MOST_CHARACTERS_SHOWN})"
        return self.fail(f"concat('value ', {shown}, ' cannot be read as {describe_type(self.column.type)}')", shown)

    def read_row_id(self, value: str) -> str:
        """Row ids that are kept are UUIDs of version 7, in lower case whatever the source writes."""
        shown = f"substr({value}, 1, {MOST_CHARACTERS_SHOWN})"
        problem = self.fail(f"concat('value ', {shown}, ' is not a UUID of version 7')", shown)
        return f"CASE WHEN NOT lower({value}) RLIKE '{_ROW_ID}' THEN {problem} ELSE lower({value}) END"

    def read_text(self, reference: str) -> str:
        """Return SQL of a text's value, which fails where it is not of the column's type."""
        kind = self.column.type
        if kind == "string":
            return self._read_string(reference)
        cast = f"try_cast({_bound(reference) if kind.startswith('decimal') else reference} AS {kind})"
        given = {"date": self.formats.date, "timestamp": self.formats.timestamp}.get(kind)
        if given is not None:
            cast = f"CAST(try_to_timestamp({reference}, {quote_text(given)}) AS {kind})"
        value = f"coalesce({cast}, CASE WHEN {reference} IS NOT NULL THEN {self.refuse(reference)} END)"
        wrong = [None if given is not None else self._find_wrong(reference, cast), _find_out_of_years(kind, cast)]
        found = " OR ".join(sql for sql in wrong if sql is not None)
        return f"CASE WHEN {found} THEN {self.refuse(reference)} ELSE {value} END" if found else value

    def _read_string(self, reference: str) -> str:
        if not self.formats.was_decoded:
            return reference
        shown = f"substr({reference}, 1, {MOST_CHARACTERS_SHOWN})"
        problem = self.fail(f"concat('the text ', {shown}, ' holds characters of another encoding')", shown)
        return f"CASE WHEN contains({reference}, '{_REPLACEMENT}') THEN {problem} ELSE {reference} END"

    def _find_wrong(self, reference: str, cast: str) -> str | None:
        """Return SQL that is TRUE for texts which a cast would accept and a source should not write."""
        patterns = {"date": _DATE_TEXT, "timestamp": _TIMESTAMP_TEXT, "boolean": _BOOLEAN_TEXT}
        if self.column.type in patterns:
            return f"NOT {reference} RLIKE '{patterns[self.column.type]}'"
        decimal = parse_decimal(self.column.type)
        return None if decimal is None else _find_rounded(decimal, reference, cast)


def _find_out_of_years(kind: str, cast: str) -> str | None:
    """Return SQL that is TRUE for days before year 1 and after 9999, which no other program may take for the same."""
    limits = _YEARS.get(kind)
    return None if limits is None else f"NOT {cast} BETWEEN {limits}"


def _bound(reference: str) -> str:
    """Return SQL of a text that a cast may have: those with exponents are looked at first.

    An exponent of four places Java would write out, and never end; a zero with a large one is too large for Spark.
    """
    looked_at = f"CASE WHEN {reference} RLIKE '{_HUGE}' THEN NULL WHEN {reference} RLIKE '{_ZERO}' THEN '0'"
    return f"IF({_has_exponent(reference)}, {looked_at} ELSE {reference} END, {reference})"


def _has_exponent(reference: str) -> str:
    return f"contains({reference}, 'e') OR contains({reference}, 'E')"


def _find_rounded(decimal: tuple[int, int], reference: str, cast: str) -> str:
    """More digits after the point than declared are an error, not a rounding: compare with a reading that has room."""
    precision, scale = decimal
    room = MAX_PRECISION - (precision - scale)
    plain = rf"^\\s*[+-]?\\d*([.]\\d{{0,{scale}}}0*)?\\s*$"
    beyond = f"(NOT {reference} RLIKE '{plain}' AND {_find_places(reference)} > {scale})"
    if room <= scale:
        return beyond
    exact = f"try_cast({_bound(reference)} AS decimal({MAX_PRECISION},{room}))"
    return f"({exact} <> {cast} OR ((length({reference}) > {room} OR {_has_exponent(reference)}) AND {beyond}))"


def _find_places(reference: str) -> str:
    """Return SQL of how many places after the point a number with an exponent needs; of all other texts, too many."""
    whole, fraction, exponent = (f"regexp_extract({reference}, '{_SCIENTIFIC}', {group})" for group in (1, 2, 3))
    digits = f"TRIM(TRAILING '0' FROM concat({whole}, {fraction}))"
    places = f"length({digits}) - length({whole}) - CAST({exponent} AS int)"
    # Zero needs none, whatever its exponent.
    needed = f"CASE WHEN {digits} = '' THEN 0 ELSE {places} END"
    return f"CASE WHEN {reference} RLIKE '{_SCIENTIFIC}' THEN {needed} ELSE {_TOO_MANY_PLACES} END"
