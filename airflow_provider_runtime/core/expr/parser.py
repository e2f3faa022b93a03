"""Text to tree, by the grammar in grammar.lark."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.resources import files

from lark import Lark
from lark.exceptions import UnexpectedInput, VisitError

from airflow_provider_runtime.core.expr.keywords import PositionalKeywords
from airflow_provider_runtime.core.expr.nodes import Node
from airflow_provider_runtime.core.expr.problems import ExpressionSyntaxError
from airflow_provider_runtime.core.expr.syntax_errors import explain
from airflow_provider_runtime.core.expr.tree_builder import DEEPEST, TreeBuilder, too_deep

LONGEST_TEXT = 1_000_000
_NESTING = re.compile(
    r"""(?P<quoted>"[^"]*"|'[^']*')|(?P<open>\()|(?P<close>\))"""
    rf"""|(?P<run>(?<!\w)(?:NOT\b\s*){{{DEEPEST + 1}}}|(?:-\s*){{{DEEPEST + 2}}})""",
    re.IGNORECASE,
)


def parse(text: str) -> Node:
    """Return the tree of an expression, or raise ExpressionSyntaxError."""
    # Nodes are never changed after they are made, so that equal texts can share one tree.
    result = _parse_cached(text)
    if isinstance(result, ExpressionSyntaxError):
        found = result.problem
        raise ExpressionSyntaxError(found.message, found.start, found.end, found.hint, found.kind)
    return result


@lru_cache(maxsize=4096)
def _parse_cached(text: str) -> Node | ExpressionSyntaxError:
    try:
        _check_size(text)
        return _parse_fresh(text)
    except ExpressionSyntaxError as error:
        return error


def _parse_fresh(text: str) -> Node:
    try:
        tree: object = _get_lark().parse(text)
    except ExpressionSyntaxError:
        raise
    except VisitError as error:
        if isinstance(error.orig_exc, ExpressionSyntaxError):
            raise error.orig_exc from None
        raise
    except UnexpectedInput as error:
        raise explain(text, error) from None
    assert isinstance(tree, Node)
    return tree


@lru_cache(maxsize=1)
def _get_lark() -> Lark:
    grammar = files(__package__).joinpath("grammar.lark").read_text(encoding="utf-8")
    keywords = PositionalKeywords()
    lark = Lark(
        grammar,
        parser="lalr",
        lexer="basic",
        maybe_placeholders=False,
        transformer=TreeBuilder(),
        postlex=keywords,
    )
    keywords.learn(lark)
    return lark


def _check_size(text: str) -> None:
    if not text.strip():
        raise ExpressionSyntaxError("the expression is empty", 0, len(text))
    if len(text) > LONGEST_TEXT:
        raise ExpressionSyntaxError(f"the expression is longer than {LONGEST_TEXT:,} characters", 0, 1)
    if len(text) <= DEEPEST:
        return
    depth = 0
    for match in _NESTING.finditer(text):
        depth += (match.lastgroup == "open") - (match.lastgroup == "close")
        if depth > DEEPEST or match.lastgroup == "run":
            raise too_deep(match.start(), match.start() + 1)
