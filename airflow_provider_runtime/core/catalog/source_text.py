"""The text of a file and the arithmetic from offsets to lines."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property

from airflow_provider_runtime.core.errors import Place

LONGEST_LINE = 1_000
"""Characters from which a source line is not shown."""
SECRET_LINE = re.compile(
    r"(?:pass(?:word|wd|phrase)|pwd|secret|token|key)[\w.-]*[\"']?\s*[:=]\s*[^\s{\[]"
    r"|\bbearer\b|(?<![a-z])sig(?:nature)?=|(?<!abfs:)(?<!abfss:)(?<!wasb:)(?<!wasbs:)//\S*@|jdbc:oracle:\S*@",
    re.IGNORECASE,
)
"""A line that may show a secret; it is not repeated in messages."""
SECRET_KEY = re.compile(
    r"(?:pass(?:word|wd|phrase)|pwd|secret|token|credential|(?<![a-z])o?auth(?![a-z])|authorization"
    r"|(?!(?<![\w.-])key: ?\[[\w, ]*\])keys?(?![\w.-]))"
    r"[\w.-]{0,99}[\"']?\s{0,9}:",
    re.IGNORECASE,
)
"""A key of YAML whose value may be a secret, on its line or below it; the `key` of an output is a list of columns."""
LEAD = re.compile(r"[ \t]*(?:-[ \t]+)*")
NEXT_KEY = re.compile(r"[\"']?[\w.-]+[\"']?\s*:(?:\s|$)")
LINE_BREAK = re.compile(r"\r\n|\n|\r")


class SourceText:
    """The text of a file and the arithmetic from offsets to lines."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self._starts: list[int] | None = None

    def _line_starts(self) -> list[int]:
        if self._starts is None:
            self._starts = [0, *(match.end() for match in LINE_BREAK.finditer(self.text))]
        return self._starts

    def locate(self, start: int, end: int | None = None) -> Place:
        """Return the place of a stretch of the text."""
        starts = self._line_starts()
        start = min(start, len(self.text))
        line = bisect_right(starts, start) - 1
        first = starts[line]
        limit = starts[line + 1] if line + 1 < len(starts) else len(self.text)
        column = start - first + 1
        end_column = None if end is None else min(end, limit) - first + 1
        if end_column is not None and end_column <= column:
            end_column = None
        shown = self.show_line(line + 1)
        return Place(file=self.name, line=line + 1, column=column, end_column=end_column, source_line=shown)

    def read_line(self, number: int) -> str:
        """Return a line, counted from 1, as written; empty where there is none."""
        starts = self._line_starts()
        if not 1 <= number <= len(starts):
            return ""
        return self.text[starts[number - 1] : starts[number] if number < len(starts) else len(self.text)]

    def show_line(self, number: int) -> str | None:
        """Return a line, counted from 1; None where there is none, or where it is too long or may show a secret."""
        line = self.read_line(number)
        if not line or len(line) > LONGEST_LINE or number in self._secret_lines:
            return None
        shown = line.rstrip("\r\n")
        return None if SECRET_LINE.search(shown) else shown

    @cached_property
    def _secret_lines(self) -> frozenset[int]:
        """The lines of keys that may hold a secret, each down to the next key that is nested no deeper."""
        if not SECRET_KEY.search(self.text):
            return frozenset()
        found: set[int] = set()
        depth: int | None = None
        for number, line in enumerate(LINE_BREAK.split(self.text), 1):
            indent = len(line) - len(line.lstrip(" "))
            if depth is not None and (
                line.startswith("---")
                or (indent < depth and line.startswith("- ", indent))
                or (indent <= depth and NEXT_KEY.match(line, indent))
            ):
                depth = None
            if depth is None and SECRET_KEY.search(line):
                lead = LEAD.match(line)
                depth = lead.end() if lead else 0
            if depth is not None:
                found.add(number)
        return frozenset(found)
