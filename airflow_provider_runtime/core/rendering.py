"""How problems are shown: as text with the source line and a caret, as JSON, and as annotations of a pull request."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypedDict

from airflow_provider_runtime.core.errors import Place, Problem
from airflow_provider_runtime.core.suggest import list_names

_Painter = Callable[[str, str], str]
RED, YELLOW, BLUE, BOLD, RESET = "\033[31m", "\033[33m", "\033[34m", "\033[1m", "\033[0m"
DOCS_PAGE = "docs/errors.md"
"""Page that explains every code."""
WIDEST_LINE = 160
"""Characters of a source line that are shown around the caret."""


def sort_problems(problems: Iterable[Problem]) -> list[Problem]:
    """Return problems in the order of files, lines and columns, each only once."""
    unique = dict.fromkeys(problems)
    return sorted(unique, key=lambda found: (found.location.file or "", found.location.line, found.location.column))


def render_problem(problem: Problem, color: bool = False) -> str:
    """Return a problem as a few lines of text: code and message, the place, the source line, the hint."""
    paint = _paint if color else _leave
    shade = RED if problem.severity == "error" else YELLOW
    lines = [f"{paint(problem.code, BOLD + shade)} {paint(escape_control(problem.message), BOLD)}"]
    location = problem.location
    if location.file is not None:
        place = f"{escape_control(location.file)}:{location.line}:{location.column}"
        lines.append(f"  {paint('-->', BLUE)} {place}{_describe_context(location)}")
    if location.source_line is not None and location.source_line.strip():
        lines += _draw_caret(location, paint, shade)
    if problem.hint:
        lines.append(f"  {paint('hint:', BLUE)} {escape_control(problem.hint)}")
    return "\n".join(lines)


def render_problems(problems: Iterable[Problem], color: bool = False) -> str:
    """Return all problems as text, a blank line between them, and last where their codes are explained."""
    ordered = sort_problems(problems)
    blocks = [render_problem(problem, color) for problem in ordered]
    anchors = [f"#{code.lower()}" for code in dict.fromkeys(problem.code for problem in ordered)]
    if anchors:
        blocks.append(f"explained in {DOCS_PAGE}: {list_names(anchors)}")
    return "\n\n".join(blocks)


class ProblemDocument(TypedDict):
    """A problem as `validate --format json` promises it."""

    code: str
    severity: str
    message: str
    hint: str | None
    file: str | None
    line: int
    column: int
    project: str | None
    operation_seq: int | None
    field: str | None


def problem_to_json(problem: Problem) -> ProblemDocument:
    """Return a problem as the keys that `validate --format json` promises."""
    location = problem.location
    return {
        "code": problem.code,
        "severity": problem.severity,
        "message": problem.message,
        "hint": problem.hint,
        "file": location.file,
        "line": location.line,
        "column": location.column,
        "project": location.project,
        "operation_seq": location.operation_seq,
        "field": location.field,
    }


def render_github(problem: Problem, prefix: str = "") -> str:
    """Return a problem as a workflow command that GitHub shows beside the line."""
    location = problem.location
    file = f"{prefix.rstrip('/')}/{location.file}" if prefix and location.file else location.file or ""
    properties = {"file": escape_control(file), "line": location.line, "col": location.column, "title": problem.code}
    if location.end_column is not None:
        properties["endColumn"] = location.end_column
    written = ",".join(f"{key}={_escape_property(str(value))}" for key, value in properties.items())
    text = problem.message + (f"\nhint: {problem.hint}" if problem.hint else "")
    return f"::{problem.severity} {written}::{_escape_data(text)}"


def escape_control(text: str) -> str:
    """Return a text whose control and direction characters are visible, so that it cannot forge output."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escape_character(character) for character in text)


def _escape_character(character: str) -> str:
    if character.isprintable():
        return character
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def _describe_context(location: Place) -> str:
    parts = []
    if location.project:
        parts.append(location.project)
    if location.operation_seq is not None:
        parts.append(f"operation {location.operation_seq}")
    context = ": ".join(parts)
    if location.field:
        context = f"{context}, {location.field}" if context else location.field
    return f" ({escape_control(context)})" if context else ""


def _draw_caret(location: Place, paint: _Painter, shade: str) -> list[str]:
    line = location.source_line or ""
    start = min(location.column - 1, len(line))
    end = max(start + 1, min((location.end_column or location.column + 1) - 1, len(line)))
    shift = max(0, start - WIDEST_LINE // 2)
    shown = line[shift : shift + WIDEST_LINE]
    before = escape_control(shown[: start - shift].replace("\t", " "))
    marked = escape_control(shown[start - shift : end - shift].replace("\t", " "))
    after = escape_control(shown[end - shift :].replace("\t", " "))
    number = str(location.line)
    gutter = " " * (len(number) + 1) + paint("|", BLUE)
    caret = paint("^" * max(1, len(marked)), BOLD + shade)
    return [
        gutter,
        f"{paint(number, BLUE)} {paint('|', BLUE)} {before}{marked}{after}",
        f"{gutter} {' ' * len(before)}{caret}",
    ]


def _paint(text: str, codes: str) -> str:
    return f"{codes}{text}{RESET}"


def _leave(text: str, _codes: str) -> str:
    return text


def _escape_data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape_data(text).replace(":", "%3A").replace(",", "%2C")
