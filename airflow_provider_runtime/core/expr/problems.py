"""What can be wrong with an expression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from airflow_provider_runtime.core.errors import Code

Kind = Literal[
    "syntax", "unknown_column", "unknown_table", "unknown_function", "arity", "type", "aggregate", "nested", "selector"
]

CODES: dict[Kind, Code] = {
    "syntax": "EXPR_001",
    "unknown_column": "EXPR_002",
    "unknown_table": "EXPR_002",
    "unknown_function": "EXPR_003",
    "arity": "EXPR_003",
    "type": "EXPR_004",
    "aggregate": "EXPR_005",
    "nested": "EXPR_005",
    "selector": "SELECTOR_001",
}


@dataclass(frozen=True, slots=True)
class ExpressionProblem:
    """One thing that is wrong with an expression, with its span in the text.

    With `selector` set, the span is in the text of the named selector of that name.
    """

    code: Code
    kind: Kind
    message: str
    hint: str | None
    start: int
    end: int
    selector: str | None = None
    table: str | None = None
    column: str | None = None


class ExpressionSyntaxError(Exception):
    """A text is not an expression."""

    def __init__(self, message: str, start: int, end: int, hint: str | None = None, kind: Kind = "syntax") -> None:
        self.problem = ExpressionProblem(CODES[kind], kind, message, hint, start, end)
        super().__init__(message)


def shorten(text: str) -> str:
    """Return a piece of the user's text that can be shown."""
    printable = "".join(character if character.isprintable() else "�" for character in text[:41])
    return printable if len(printable) <= 40 else printable[:40] + "…"
