"""Words that are keywords by their position only, so that columns of these names still work.

Nearly everywhere the grammar allows a keyword or a name, and not both. Where both are possible (`CASE` and the word
behind it) the likelier one is tried first, and the other one where the text makes no sense with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lark import Lark, Token
from lark.parsers.lalr_analysis import Shift

BETWEEN_VALUES = frozenset({"WHEN", "THEN", "ELSE", "END", "LIKE", "ESCAPE", "BY", "ORDER", "DESC"})
KEYWORDS = BETWEEN_VALUES | {"CASE"}
STEPS_FOR_TOKEN, LEAST_STEPS = 20, 2_000
"""How long is searched, so that no text can make it take forever."""

Stack = tuple[int, Any]
"""The parser's states as a list: the last one, and the list before it."""


class PositionalKeywords:
    """The step between Lark's lexer and its parser that turns names into keywords."""

    always_accept = ()

    def __init__(self) -> None:
        self._states: Mapping[int, Mapping[str, tuple[Any, Any]]] = {}
        self._ends: tuple[int, int] = (0, 0)

    def learn(self, lark: Lark) -> None:
        """Take over the parser's table, which says what may follow what."""
        table = lark.parse_interactive("").parser_state.parse_conf
        self._states, self._ends = table.states, (table.start_state, table.end_state)

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        """Return the tokens, those that are keywords with the keyword as their type."""
        tokens = list(stream)
        kinds = self._choose(tokens) if any(_may_be_keyword(tokens, at) for at in range(len(tokens))) else []
        return (
            token if kind == token.type else Token.new_borrow_pos(kind, str(token), token)
            for token, kind in zip(tokens, kinds or [token.type for token in tokens], strict=True)
        )

    def _choose(self, tokens: list[Token]) -> list[str]:
        """Return the types with which the tokens can be parsed, or come farthest."""
        options = [_list_types(tokens, at) for at in range(len(tokens))]
        begin: Stack = (self._ends[0], None)
        kinds: list[str] = []
        # Places that are left to try another type at: how many types were chosen before, the states there, the type.
        waiting: list[tuple[int, Stack, str]] = [(0, begin, kind) for kind in reversed(options[0])]
        best: list[str] = []
        for _ in range(STEPS_FOR_TOKEN * len(tokens) + LEAST_STEPS):
            if not waiting:
                break
            count, stack, kind = waiting.pop()
            following = self._advance(stack, kind)
            del kinds[count:]
            kinds.append(kind)
            if len(kinds) > len(best):
                best = list(kinds)
            if following is None:
                continue
            if len(kinds) == len(tokens):
                if self._advance(following, "$END") is not None:
                    return kinds
                continue
            waiting += [(len(kinds), following, option) for option in reversed(options[len(kinds)])]
        return best + [token.type for token in tokens[len(best) :]]

    def _advance(self, stack: Stack, kind: str) -> Stack | None:
        """Return the states after one more token; None when it is not allowed here."""
        while True:
            action = self._states[stack[0]].get(kind)
            if action is None:
                return None
            what, argument = action
            if what is Shift:
                return argument, stack
            for _ in argument.expansion:
                stack = stack[1]
            stack = (self._states[stack[0]][argument.origin.name][1], stack)
            if kind == "$END" and stack[0] == self._ends[1]:
                return stack


def _list_types(tokens: list[Token], at: int) -> tuple[str, ...]:
    """Return the types that a token may have, the likelier one first."""
    if not _may_be_keyword(tokens, at):
        return (tokens[at].type,)
    word = tokens[at].upper()
    follower = tokens[at + 1].upper() if at + 1 < len(tokens) and _may_be_keyword(tokens, at + 1) else ""
    # In `ELSE case END` CASE is a column, and in `ELSE CASE when WHEN 1 …` WHEN is one.
    is_column = word == "CASE" and follower in BETWEEN_VALUES - {"WHEN"}
    return ("NAME", word) if is_column else (word, "NAME")


def _may_be_keyword(tokens: list[Token], at: int) -> bool:
    is_column = at > 0 and tokens[at - 1].type == "DOT"
    return tokens[at].type == "NAME" and not is_column and tokens[at].upper() in KEYWORDS
