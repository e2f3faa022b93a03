"""Airflow's commands in the pages are commands of Airflow, with options that it has."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from airflow.cli.cli_parser import get_parser

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"]
BLOCK = re.compile(r"^```bash\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`(airflow [a-z]+ [^`…]+)`")


def list_commands() -> list[str]:
    found = set()
    for page in PAGES:
        text = page.read_text("utf-8")
        found |= set(INLINE.findall(text.replace("\n", " ")))
        for block in BLOCK.findall(text):
            found |= {line for line in block.replace("\\\n", " ").splitlines() if line.startswith("airflow ")}
    return sorted(found)


@pytest.mark.parametrize("line", list_commands())
def test_command_of_a_page_is_known_to_airflow(line: str) -> None:
    words = shlex.split(line)[1:]
    if len(words) > 2:
        get_parser().parse_args(words)
        return
    # Prose may name a command without what it requires.
    with pytest.raises(SystemExit) as ended:
        get_parser().parse_args([*words, "--help"])
    assert ended.value.code == 0
