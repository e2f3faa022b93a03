"""Types the commands of a page as they are printed there."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from pathlib import Path

from tests.command_line import invoke

DOCS = Path(__file__).resolve().parents[3] / "docs"
BLOCK = re.compile(r"^```(bash|yaml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def read_section(page: str, title: str) -> list[tuple[str, str]]:
    """Return the blocks of a section of a page: their language and their text."""
    text = (DOCS / page).read_text("utf-8") + "\n## "
    (section,) = re.findall(rf"^## (?:\d+\. )?{re.escape(title)}\n(.*?)(?=^## )", text, re.MULTILINE | re.DOTALL)
    return BLOCK.findall(section)


def type_block(text: str) -> list[str]:
    """Do what each line of a block says, and return what each command of ours has said."""
    return [said for line in text.splitlines() if (said := type_line(line)) is not None]


def type_line(line: str, *, status: int = 0) -> str | None:
    """Do what a line of a shell says; of a command of ours, check its exit status and return what it has said."""
    words = shlex.split(line, comments=True)
    if words[0] == "export":
        os.environ.__setitem__(*words[1].split("=", 1))
        return None
    if words[0] == "cd":
        os.chdir(words[1])
        return None
    if words[0] != "airflow-runtime":
        subprocess.run(["bash", "-c", line], check=True, timeout=60)
        return None
    output = Path(words[words.index(">") + 1]) if ">" in words else None
    words = words[1 : words.index(">")] if output is not None else words[1:]
    run_id = _find_staged_run() if "RUN_ID" in words else ""
    done = invoke(*(run_id if word == "RUN_ID" else word for word in words))
    assert done.exit_code == status, f"{line}\n{done.output}"
    if output is not None:
        output.write_text(done.stdout, encoding="utf-8")
    return done.output


def _find_staged_run() -> str:
    shown = invoke("runs", "--project", "fx-conversion", "--period", "2026-01", "--format", "json").stdout
    return str(next(run["run_id"] for run in json.loads(shown) if run["status"] == "staged"))
