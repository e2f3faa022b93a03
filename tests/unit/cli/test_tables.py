"""Tables on a terminal: what fits, and without colours when asked."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

from airflow_provider_runtime.cli.tables import choose_columns

TITLES = ("project", "period", "attempt", "rows", "error")
CELLS = [["budget-review v1", "2026-01", "1", "10", ""], ["fx-close v1", "2026-02", "2", "7", ""]]
SCRIPT = """
from airflow_provider_runtime.cli.tables import print_table
print_table(("project", "period", "error"), [["budget-review v1", "2026-01", "JOIN_010: " + "x " * 60]], empty="")
"""


def test_wide_terminal_shows_all_but_empty_columns() -> None:
    assert choose_columns(TITLES, CELLS, ("attempt", "rows"), 80) == [0, 1, 2, 3]


def test_narrow_terminal_leaves_out_optional_columns_in_their_order() -> None:
    assert choose_columns(TITLES, CELLS, ("attempt", "rows"), 33) == [0, 1, 3]
    assert choose_columns(TITLES, CELLS, ("attempt", "rows"), 20) == [0, 1]


def test_long_texts_may_be_folded_instead() -> None:
    long = [[*CELLS[0][:4], "JOIN_010: " + "x" * 200]]
    assert choose_columns(TITLES, long, ("attempt", "rows"), 80) == [0, 1, 2, 3, 4]


def print_on_terminal(**environment: str) -> str:
    master, slave = pty.openpty()
    kept = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    environment = {**kept, "TERM": "xterm", "COLUMNS": "80", **environment}
    subprocess.run([sys.executable, "-c", SCRIPT], stdout=slave, env=environment, check=True, timeout=60)
    os.close(slave)
    shown = os.read(master, 10_000).decode()
    os.close(master)
    return shown


def test_terminal_of_80_columns_breaks_no_name() -> None:
    shown = print_on_terminal()
    assert "\x1b[1m" in shown
    assert "budget-review v1  2026-01  JOIN_010:" in shown


def test_no_color_leaves_no_sign_of_the_terminal() -> None:
    shown = print_on_terminal(NO_COLOR="1")
    assert "\x1b" not in shown
    assert max(map(len, shown.splitlines())) <= 80
