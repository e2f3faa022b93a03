"""Tables for people: rich on a terminal, aligned plain columns elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import datetime

import click

GAP = 2
LONG = 36
"""A column with a longer text than this may be folded; the others stay on one line."""
LEAST = 16
"""Room that a folded column needs at least."""


def print_table(
    titles: Sequence[str], rows: Sequence[Sequence[object]], *, empty: str, optional: Sequence[str] = ()
) -> None:
    """Print rows under titles, or one sentence when there are none.

    A terminal that is too narrow for all columns shows the table without the `optional` ones, as many as need be.
    """
    cells = [[_show(value) for value in row] for row in rows]
    if not cells:
        click.echo(empty)
    elif sys.stdout.isatty():
        _print_rich(titles, cells, optional)
    else:
        widths = _get_widths(titles, cells)
        lines = (
            "  ".join(value.ljust(width) for value, width in zip(line, widths, strict=True)).rstrip()
            for line in (titles, *cells)
        )
        click.echo("\n".join(lines))


def choose_columns(
    titles: Sequence[str], cells: Sequence[Sequence[str]], optional: Sequence[str], width: int
) -> list[int]:
    """Return the places of the columns that a terminal of this width has room for; empty ones need none."""
    widths = _get_widths(titles, cells)
    shown = [place for place in range(len(titles)) if any(row[place] for row in cells)]
    for title in optional:
        needed = sum(widths[place] if widths[place] <= LONG else LEAST for place in shown) + GAP * (len(shown) - 1)
        if needed <= width:
            break
        shown = [place for place in shown if titles[place] != title]
    return shown


def _get_widths(titles: Sequence[str], cells: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(titles, *cells, strict=True)]


def _print_rich(titles: Sequence[str], cells: Sequence[Sequence[str]], optional: Sequence[str]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from airflow_provider_runtime.cli.main import wants_color

    console = Console()
    widths = _get_widths(titles, cells)
    shown = choose_columns(titles, cells, optional, console.width)
    table = Table(box=None, pad_edge=False, header_style="bold" if wants_color(sys.stdout) else "")
    for place in shown:
        table.add_column(titles[place], overflow="fold", no_wrap=widths[place] <= LONG)
    for row in cells:
        # As text: a name with brackets is not markup.
        table.add_row(*(Text(row[place]) for place in shown))
    console.print(table)


def _show(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S")
    # Control characters would forge lines or drive the terminal.
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in str(value))
