"""A comparison as text for a terminal of 80 columns, and as one HTML file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap

from airflow_provider_runtime.core.evidence.page import render_template
from spark_jobs.contract.comparison import Comparison, OutputComparison, RowChange

WIDTH = 80
MOST_LINES = 4
"""Of one row."""
SIGNS = {"added": "+", "removed": "-", "changed": "~"}
COLORS = {"added": "32", "removed": "31", "changed": "33"}


def render_comparison(comparison: Comparison, *, color: bool = False) -> str:
    """Return a comparison for people: counts, columns that differ with their totals, and sample rows."""
    return "\n\n".join("\n".join(_render_output(output, color)) for output in comparison.in_order().outputs)


def render_comparison_page(comparison: Comparison, title: str) -> str:
    """Return a comparison as an HTML document."""
    return render_template("comparison.html", comparison=comparison.in_order(), title=title, signs=SIGNS)


def _render_output(output: OutputComparison, color: bool) -> Iterator[str]:
    yield f"output {output.seq}, {output.destination}"
    key = f"by {', '.join(output.key)}" if output.key else "as a multiset: it has no key"
    yield f"  {output.rows_before} rows published, {output.rows_after} staged, compared {key}"
    if not output.differs:
        yield "  nothing differs"
        return
    yield f"  {output.added} added, {output.removed} removed, {output.changed} changed, {output.same} same"
    rows = [
        (column.name, str(column.changed), column.total_before or "", column.total_after or "", column.difference or "")
        for column in output.columns
        if column.differs
    ]
    if rows:
        yield ""
        yield from _align(("column", "changed", "total before", "total after", "difference"), rows)
    if output.sample:
        yield ""
        for row in output.sample:
            yield from _render_row(row, color)


def _align(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]
    if 2 * len(widths) + sum(widths) > WIDTH:
        # Amounts are never cut: what does not fit side by side is written one below the other.
        for row in rows:
            yield from _stack(titles, row)
        return
    for line in (titles, *rows):
        cells = [
            line[0].ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)),
        ]
        yield "  " + "  ".join(cells).rstrip()


def _stack(titles: Sequence[str], row: Sequence[str]) -> Iterator[str]:
    yield f"  {row[0]}"
    width = max(map(len, titles[1:]))
    for title, cell in zip(titles[1:], row[1:], strict=True):
        if cell:
            yield f"    {title.ljust(width)}  {cell}"


def _render_row(row: RowChange, color: bool) -> Iterator[str]:
    names = {**(row.before or {}), **(row.after or {})}
    key = ", ".join(f"{name}={show_value(value)}" for name, value in row.key.items())
    if row.change == "changed":
        before, after = row.before or {}, row.after or {}
        values = [f"{name} {show_value(before.get(name))} -> {show_value(after.get(name))}" for name in names]
    else:
        values = [f"{name}={show_value(value)}" for name, value in names.items() if name not in row.key]
    line = f"{SIGNS[row.change]} {key}{': ' if key and values else ''}{', '.join(values)}"
    for shown in wrap(line, WIDTH - 2, subsequent_indent="    ", max_lines=MOST_LINES, placeholder=" …"):
        yield f"  \x1b[{COLORS[row.change]}m{shown}\x1b[0m" if color else f"  {shown}"


def show_value(value: str | None) -> str:
    """Return a value of a row as a terminal can show it."""
    if value is None:
        return "NULL"
    # Control characters would forge lines or drive the terminal.
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in value)
