"""How SQL between planning and job is spelled: names, texts, the row at hand, aliases, and marks."""

from __future__ import annotations

import re

WORKING = "@w"
"""Alias of the row at hand."""
TOUCHED_COLUMN = "@touched"
TOUCHED = "`@w`.`@touched`"
"""In columns over groups: whether the operation touches the row at hand."""
MARK_PATTERN = re.compile(r"/\*@(?P<mark>[^#*]+?)(?:#(?P<column>[^*]+))?\*/")


def quote_name(name: str) -> str:
    """Return a name as Spark SQL writes it."""
    return f"`{name.replace('`', '``')}`"


def quote_text(text: str) -> str:
    """Return a text as a string literal that means the same in Spark's default parser mode."""
    return "'" + "".join(map(_escape, text)) + "'"


def write_literal(text: str | None, type_: str) -> str:
    """Return a value, given as text, as a literal of a type."""
    return f"CAST({'NULL' if text is None else quote_text(text)} AS {type_})"


def _escape(character: str) -> str:
    if character in "\\'":
        return "\\" + character
    # `$` could begin a variable, which Spark substitutes before it parses.
    if character.isprintable() and character != "$":
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def name_alias(alias: str) -> str:
    """Return the name that holds the columns of a join or lookup."""
    return f"@@{alias}"


def write_column(alias: str | None, column: str) -> str:
    """Return SQL of a column: of the row at hand, or of a join or lookup."""
    relation = WORKING if alias is None else name_alias(alias)
    return f"{quote_name(relation)}.{quote_name(column)}"


def write_mark(mark: str) -> str:
    """Return the comment that leads from a failing piece of SQL back to its line of YAML."""
    return f"/*@{mark.replace('*', '').replace('/', '|')}*/"


def strip_marks(sql: str) -> str:
    """Return SQL as it is shown to people."""
    return MARK_PATTERN.sub("", sql)
