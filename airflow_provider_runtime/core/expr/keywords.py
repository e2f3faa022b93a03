"""Words that are keywords by their position only, so that columns of these names still work.

`CASE` begins an expression where a value is expected and something that can only follow the keyword comes next. The
others stand where a value has just ended, and no column can stand there.
"""

from __future__ import annotations

from collections.abc import Iterator

from lark import Token

BETWEEN_VALUES = frozenset({"WHEN", "THEN", "ELSE", "END", "LIKE", "ESCAPE", "BY", "ORDER", "DESC"})
KEYWORDS = BETWEEN_VALUES | {"CASE"}
_VALUES = frozenset({"NUMBER", "STRING", "SELECTOR", "TRUE", "FALSE", "NULL", "NAME", "RPAR", "END", "DESC"})
"""After these a value has ended."""
_BEGINNINGS = frozenset({"NUMBER", "STRING", "SELECTOR", "TRUE", "FALSE", "NULL", "LPAR"})
"""These can begin a value and cannot follow one."""


class PositionalKeywords:
    """The step between Lark's lexer and its parser that turns names into keywords."""

    always_accept = ()

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        """Return the tokens, those that are keywords with the keyword as their type."""
        return _Pass(list(stream)).run()


class _Pass:
    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.open: list[str] = []
        """Brackets and CASEs that are open, as `(` or the keyword that was last in the CASE."""

    def run(self) -> Iterator[Token]:
        before = ""
        ends_value = is_negated = False
        for index, token in enumerate(self.tokens):
            if token.type == "NAME" and before != "DOT":
                word = token.upper()
                is_keyword = self._is_keyword(word, index, before, ends_value=ends_value, is_negated=is_negated)
                if is_keyword:
                    token = Token.new_borrow_pos(word, str(token), token)
            self._note(token.type)
            is_negated = token.type == "NOT" and ends_value
            ends_value = token.type in _VALUES
            before = token.type
            yield token

    def _is_keyword(self, word: str, index: int, before: str, *, ends_value: bool, is_negated: bool) -> bool:
        if word == "CASE" and not ends_value:
            return self._begins_case(index, before)
        if word == "WHEN" and before == "CASE":
            return self._begins_condition(index)
        return word in BETWEEN_VALUES and (ends_value or (is_negated and word == "LIKE"))

    def _note(self, kind: str) -> None:
        if kind in ("LPAR", "CASE"):
            self.open.append("(" if kind == "LPAR" else kind)
        elif kind == "RPAR":
            while self.open and self.open.pop() != "(":
                pass
        elif kind == "END" and self.open and self.open[-1] != "(":
            self.open.pop()
        elif kind in ("WHEN", "THEN", "ELSE") and self.open and self.open[-1] != "(":
            self.open[-1] = kind

    def _begins_case(self, index: int, before: str) -> bool:
        """Whether CASE, where a value is expected, is the keyword."""
        kind, word = self._look(index + 1)
        if before == "CASE":
            return False
        if kind in _BEGINNINGS or (kind == "NAME" and word not in BETWEEN_VALUES):
            return True
        if kind == "NOT":
            kind, word = self._look(index + 2)
            return kind not in ("IN", "BETWEEN") and word != "LIKE"
        if word == "WHEN":
            return not self._when_may_follow() or self._count_unmatched_ends(index) > self._count_open()
        return kind == "MINUS" and not self._when_may_follow() and self._finds_when(index)

    def _begins_condition(self, index: int) -> bool:
        """Whether WHEN, behind the keyword CASE, is the keyword and not a column that is compared."""
        kind, word = self._look(index + 1)
        if word == "WHEN":
            kind, after = self._look(index + 2)
            return not (kind in _BEGINNINGS or (kind == "NAME" and after not in BETWEEN_VALUES))
        return kind in _BEGINNINGS | {"NAME", "NOT", "MINUS", "AND", "OR"}

    def _look(self, index: int) -> tuple[str, str]:
        if index >= len(self.tokens):
            return "", ""
        token = self.tokens[index]
        return token.type, token.upper()

    def _when_may_follow(self) -> bool:
        """Whether a WHEN of the CASE around may come next."""
        return bool(self.open) and self.open[-1] in ("CASE", "THEN")

    def _count_open(self) -> int:
        """Return how many CASEs are open since the last bracket."""
        count = 0
        for kind in reversed(self.open):
            if kind == "(":
                break
            count += 1
        return count

    def _count_unmatched_ends(self, index: int) -> int:
        """Return how many more ENDs than CASEs come before the bracket around is closed."""
        count = 0
        for kind, word in self._walk_level(index):
            if kind == "NAME":
                count += (word == "END") - (word == "CASE")
        return count

    def _finds_when(self, index: int) -> bool:
        """Whether WHEN comes before anything that ends a value."""
        for kind, word in self._walk_level(index):
            if kind == "COMMA" or word in ("THEN", "ELSE", "END"):
                return False
            if word == "WHEN":
                return True
        return False

    def _walk_level(self, index: int) -> Iterator[tuple[str, str]]:
        """Yield the tokens behind a place up to the end of the brackets around it, without those in brackets."""
        depth = 0
        for at in range(index + 1, len(self.tokens)):
            kind, word = self._look(at)
            depth += (kind == "LPAR") - (kind == "RPAR")
            if depth < 0:
                return
            if depth == 0:
                yield kind, word
