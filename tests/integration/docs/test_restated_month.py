"""The tutorial's restated month: every command as it stands there, in order."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.command_line import call, invoke

ROOT = Path(__file__).resolve().parents[3]
BLOCK = re.compile(r"^```(bash|yaml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

pytestmark = [pytest.mark.integration, pytest.mark.spark, pytest.mark.timeout(600)]


def read_section(title: str) -> list[tuple[str, str]]:
    """Return the blocks of a section of the tutorial: their language and their text."""
    text = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
    (section,) = re.findall(rf"^## \d+\. {title}\n(.*?)(?=^## )", text, re.MULTILINE | re.DOTALL)
    return BLOCK.findall(section)


def find_staged_run() -> str:
    shown = invoke("runs", "--project", "fx-conversion", "--period", "2026-01", "--format", "json").stdout
    return str(next(run["run_id"] for run in json.loads(shown) if run["status"] == "staged"))


def type_line(line: str, said: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Do what a line of a shell says."""
    words = shlex.split(line)
    if words[0] == "export":
        monkeypatch.setenv(*words[1].split("=", 1))
    elif words[0] == "echo":
        _, text, _, path = words
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(text + "\n")
    else:
        assert words[0] == "airflow-runtime", line
        run_id = find_staged_run() if "RUN_ID" in words else ""
        done = invoke(*(run_id if word == "RUN_ID" else word for word in words[1:]))
        assert done.exit_code == 0, f"{line}\n{done.output}"
        said(done.output)


@pytest.mark.usefixtures("commands_share_spark")
def test_every_command_of_the_restated_month_does_what_the_tutorial_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call(tmp_path, "airflow-runtime", "init", "books")
    monkeypatch.chdir(tmp_path / "books")
    # What the sections before have left: three months, the first of them closed.
    assert invoke("run", "--project", "fx-conversion", "--period", "2026-01..2026-03").exit_code == 0
    assert invoke("periods", "--close", "2026-01", "--reason", "books are done").exit_code == 0
    said: list[str] = []
    for language, text in read_section("Restate a month"):
        if language == "yaml" and text.startswith("project:"):
            Path("catalog/quarter_totals.yaml").write_text(text, encoding="utf-8")
        elif language == "yaml":
            path = Path("catalog/fx_conversion.yaml")
            path.write_text(path.read_text("utf-8").replace("  version: 1\n", f"  version: 2\n{text}", 1), "utf-8")
        else:
            for line in text.splitlines():
                type_line(line, said.append, monkeypatch)

    _, reopened, planned, staged, compared, published, explained, _, fresh = said
    assert "2026-01" in reopened
    states = dict(re.findall(r"(\S+ +2026-\S+) +(?:open +|closed +)?(fresh|stale)", planned))
    assert {re.sub(r" +", " ", work): state for work, state in states.items() if state == "stale"} == {
        "fx-conversion 2026-01": "stale",
        "quarter-totals 2026-Q1": "stale",
    }
    assert "staged" in staged
    assert "1 added, 0 removed, 0 changed" in compared
    assert "0 added, 0 removed, 1 changed" in compared
    assert "published" in published
    told = " ".join(explained.split())
    assert "It stands for the group account travel" in told
    assert "The published row is the same." in told
    assert "-458.64" in told
    assert "stale" not in fresh
    (file,) = Path("warehouse/quarter_totals/period=2026-Q1").glob("*.parquet")
    totals = {row["account"]: row["quarter_usd"] for row in pq.ParquetFile(file).read().to_pylist()}
    assert "travel" in totals
