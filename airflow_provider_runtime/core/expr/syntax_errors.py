"""What is wrong with a text that the grammar does not take, in the user's terms."""

from __future__ import annotations

import re

from lark import Token
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from airflow_provider_runtime.core.expr.functions import CASE_FORM, CONVERSIONS, FUNCTIONS, WORDS_ELSEWHERE
from airflow_provider_runtime.core.expr.problems import ExpressionSyntaxError, shorten

RESERVED = frozenset({"AND", "OR", "NOT", "IS", "NULL", "IN", "BETWEEN", "TRUE", "FALSE"})
_CASE = re.compile(r"(?<!\w)CASE(?!\w)")
_LIKE = re.compile(r"(?<!\w)LIKE\s*(?:\"[^\"]*\"|'[^']*')$")
_BETWEEN = re.compile(r"(?<!\w)BETWEEN(?!\w)[^()]*$")
_ELSEWHERE = {
    "OVER": "sums over groups are written TOTAL(x BY k), RUNNING(x ORDER o BY k), RANK(x BY k)",
    "AS": f"{CONVERSIONS} to convert",
    "BY": "BY is written inside the brackets: TOTAL(x BY k), RUNNING(x ORDER o BY k)",
    "FROM": "arguments are separated by commas: SUBSTRING(s, from, n), YEAR(d)",
    **{word: WORDS_ELSEWHERE[word] for word in ("REGEXP", "ILIKE", "RLIKE")},
    "DIV": "use ROUNDDOWN(x / y)",
    "MOD": "use MOD(x, d)",
}
_OPENERS = {"IF": "write IF(condition, value, other)", "WHEN": CASE_FORM}
"""By the word that an expression begins with."""
_COMMA = re.compile(r"([0-9.]+),([0-9]+)")
_BRACKETS = re.compile(r"""(?P<quoted>"[^"]*"|'[^']*')|(?P<open>\()|(?P<close>\))""")
_CALLED = re.compile(r"(\w+)\s*$")
_NOT_CALL = re.compile(r"(?<!\w)NOT\s*\($", re.IGNORECASE)
_NAMES = {
    "NUMBER": "a number",
    "STRING": "a text",
    "NAME": "a name",
    "RPAR": "')'",
    "LPAR": "'('",
    "COMPARE": "a comparison",
    "SELECTOR": "a named selector",
}
_OPERAND_STARTS = frozenset({"NUMBER", "STRING", "NAME", "LPAR"})


def explain(text: str, error: UnexpectedInput) -> ExpressionSyntaxError:
    """Return what is wrong where the grammar stopped."""
    if isinstance(error, UnexpectedCharacters):
        return _explain_character(text, error.pos_in_stream or 0)
    assert isinstance(error, UnexpectedToken)
    expected = {str(name) for name in error.expected}
    token = error.token
    if token.type == "$END":
        return _explain_end(text, expected)
    start, end = token.start_pos or 0, token.end_pos or 0
    found = shorten(str(token))
    if expected == {"STRING"}:
        message = f"{_last_word(text[:start].rstrip()).upper()} needs a constant text, found '{found}'"
        hint = 'such as "A%"; STARTS_WITH, ENDS_WITH and CONTAINS look for any text'
        return ExpressionSyntaxError(message, start, end, hint)
    before = text[:start].rstrip()
    if str(token) in (",", ")") and _NOT_CALL.search(text[: _find_open_bracket(text[:start]) + 1]):
        count = "none" if before.endswith("(") else "more" if token.type != "RPAR" else "another"
        return ExpressionSyntaxError(f"NOT takes 1 argument, found {count}", start, end, "write NOT(x)", "arity")
    if expected >= _OPERAND_STARTS:
        after = _last_word(before)
        message = (
            f"expected a value after '{after}', found '{found}'" if after else f"expected a value, found '{found}'"
        )
        if found == after == "*":
            return ExpressionSyntaxError(message, start, end, "use POWER(x, n)")
        if found == after == "=":
            return ExpressionSyntaxError(message, start, end, "equality is written with one =")
        if token.type in RESERVED:
            return ExpressionSyntaxError(message, start, end, f"{found.upper()} is a reserved word")
        return ExpressionSyntaxError(message, start, end)
    if token.type == "RPAR":
        return ExpressionSyntaxError("closing bracket without an opening one", start, end)
    return ExpressionSyntaxError(f"unexpected '{found}'", start, end, _hint_unexpected(text, token, expected))


def _hint_unexpected(text: str, token: Token, expected: set[str]) -> str | None:
    start = token.start_pos or 0
    if str(token) == "=" and text[start - 1 : start] == "=":
        return "equality is written with one ="
    if str(token) == "," and (number := _COMMA.search(text[: start + 20], max(start - 20, 0))):
        return f"a decimal is written with a point: {number[1].replace('.', '')}.{number[2]}"
    before = text[:start].rstrip().upper()
    word = str(token).upper()
    if word in _ELSEWHERE:
        return _ELSEWHERE[word]
    if before in _OPENERS:
        return _OPENERS[before]
    if _LIKE.search(before):
        return "the pattern is one constant text; STARTS_WITH, ENDS_WITH and CONTAINS look for any text"
    if before.endswith(" IN"):
        return "write x IN (1, 2)"
    if before.endswith((" IS", " IS NOT")):
        return "write x IS NULL, or x = value"
    if word == "," and _BETWEEN.search(before):
        return "write x BETWEEN 1 AND 2"
    called = _find_group_function(text[:start])
    if called is not None:
        return f"write {called}"
    if _CASE.search(before):
        return CASE_FORM
    if before.endswith("DISTINCT"):
        return "use COUNT_DISTINCT(x)"
    if token.type == "NULL" and "IS" not in expected:
        return None
    if token.type in ("NAME", "NUMBER", "STRING", "LPAR", "SELECTOR", "TRUE", "FALSE", "NULL"):
        return "an operator or a comma is missing before it"
    return None


def _find_group_function(before: str) -> str | None:
    """Return how the group function whose brackets are open is written."""
    opened = _list_open_brackets(before)
    name = _CALLED.search(before[: opened[-1]]) if opened else None
    function = FUNCTIONS.get(name[1].upper()) if name else None
    return function.signature if function is not None and function.group_form else None


def _explain_end(text: str, expected: set[str]) -> ExpressionSyntaxError:
    end = len(text.rstrip())
    if expected >= _OPERAND_STARTS:
        return ExpressionSyntaxError(f"expected a value after '{_last_word(text[:end])}'", end, end)
    if expected & {"WHEN", "END"} and "RPAR" not in expected:
        return ExpressionSyntaxError("CASE without END", end, end, CASE_FORM)
    if "RPAR" in expected:
        opening = _find_open_bracket(text)
        return ExpressionSyntaxError("missing closing bracket", opening, opening + 1, "add the missing ')'")
    names = ", ".join(sorted({_NAMES.get(name, name) for name in expected})[:8])
    return ExpressionSyntaxError(f"the expression ends too early: expected {names}", end, end)


def _explain_character(text: str, at: int) -> ExpressionSyntaxError:
    character = text[at : at + 1]
    if character in ("'", '"'):
        return ExpressionSyntaxError("the text is not closed", at, len(text), f"add the closing {character}")
    if text[at : at + 2] == "{{":
        return ExpressionSyntaxError("the named selector is not closed", at, at + 2, "write {{NAME}}")
    hints = {
        "`": "names are written as they are",
        "&": "use AND for conditions, || for texts", "|": "use OR for conditions, || for texts",
        "!": "use NOT or !=", "%": "use MOD(x, d)", "[": "use round brackets", "^": "use POWER(x, n)",
        "“": 'use straight quotes: "text"', "”": 'use straight quotes: "text"', "’": "use straight quotes: 'text'",
        "‘": "use straight quotes: 'text'", ";": "an expression is a single one",
        ":": f"{CONVERSIONS} to convert",
    }  # fmt: skip
    shown = character if character.isprintable() else f"U+{ord(character):04X}"
    return ExpressionSyntaxError(f"unexpected character '{shown}'", at, at + 1, hints.get(character))


def _find_open_bracket(text: str) -> int:
    opened = _list_open_brackets(text)
    return opened[-1] if opened else max(len(text) - 1, 0)


def _list_open_brackets(text: str) -> list[int]:
    stack: list[int] = []
    for match in _BRACKETS.finditer(text):
        if match.lastgroup == "open":
            stack.append(match.start())
        elif match.lastgroup == "close" and stack:
            stack.pop()
    return stack


def _last_word(text: str) -> str:
    match = re.search(r"(\w+|<=|>=|<>|!=|\W)$", text[-100:])
    return match.group(1) if match else ""
