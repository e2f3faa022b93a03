"""Scalars as YAML's 1.2 core schema reads them, each remembering its characters in the file."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

from airflow_provider_runtime.core.model.base import Flag

INTEGER_PATTERN = re.compile(r"[-+]?[0-9]+\Z")
PREFIXED_PATTERN = re.compile(r"0o[0-7]+\Z|0x[0-9a-fA-F]+\Z")
DECIMAL_PATTERN = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
NULLS = frozenset({"", "~", "null", "Null", "NULL"})
BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
LONGEST_NUMBER = 400
"""Digits from which a number is left as text: Python refuses to read integers of some thousand digits."""


class TextInteger(int):
    """A whole number that remembers how it was written."""

    text: str


class TextDecimal(Decimal):
    """A number with a point that remembers how it was written."""

    text: str


ScalarValue = str | TextInteger | TextDecimal | Flag | None


def resolve_plain(text: str) -> ScalarValue:
    """Return the value of an unquoted scalar."""
    if text in NULLS:
        return None
    if text in BOOLEANS:
        return Flag(BOOLEANS[text], text)
    if text[0] in "+-.0123456789" and len(text) <= LONGEST_NUMBER:
        return _resolve_number(text)
    return text


def _resolve_number(text: str) -> ScalarValue:
    if INTEGER_PATTERN.match(text):
        return _make_integer(int(text), text)
    if PREFIXED_PATTERN.match(text):
        return _make_integer(int(text, 0), text)
    if DECIMAL_PATTERN.match(text):
        try:
            number = TextDecimal(text)
        except InvalidOperation:
            return text
        number.text = text
        return number
    return text


def _make_integer(value: int, text: str) -> TextInteger:
    number = TextInteger(value)
    number.text = text
    return number
