"""The text of a file and the arithmetic from offsets to lines."""

from __future__ import annotations

import re
from bisect import bisect_right

from airflow_provider_runtime.core.errors import Location

LONGEST_LINE = 1_000
"""Characters from which a source line is not shown."""
SECRET_LINE = re.compile(
    r"(?:pass(?:word|wd|phrase)|pwd|secret|token|key)[\w.-]*[\"']?\s*[:=]\s*[^\s{\[]|//[^/@\s?#]*:[^/@\s]*@|credential_ref:",
    re.IGNORECASE,
)
"""A line that may show a secret; it is not repeated in messages."""
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

    def locate(self, start: int, end: int | None = None) -> Location:
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
        shown = self._show_line(first, limit)
        return Location(file=self.name, line=line + 1, column=column, end_column=end_column, source_line=shown)

    def _show_line(self, start: int, end: int) -> str | None:
        if end - start > LONGEST_LINE:
            return None
        shown = self.text[start:end].rstrip("\r\n")
        return None if SECRET_LINE.search(shown) else shown
