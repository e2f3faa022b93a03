"""Tables for people: rich on a terminal, aligned plain columns elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import datetime

import click


def print_table(titles: Sequence[str], rows: Sequence[Sequence[object]], *, empty: str) -> None:
    """Print rows under titles, or one sentence when there are none."""
    cells = [[_show(value) for value in row] for row in rows]
    if not cells:
        click.echo(empty)
    elif sys.stdout.isatty():
        _print_rich(titles, cells)
    else:
        widths = [max(map(len, column)) for column in zip(titles, *cells, strict=True)]
        for line in (titles, *cells):
            click.echo("  ".join(value.ljust(width) for value, width in zip(line, widths, strict=True)).rstrip())


def _print_rich(titles: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in titles:
        table.add_column(title, overflow="fold")
    for row in cells:
        # As text: a name with brackets is no markup.
        table.add_row(*map(Text, row))
    Console().print(table)


def _show(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S")
    # Control characters would forge lines or drive the terminal.
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in str(value))
