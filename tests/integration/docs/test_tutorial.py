"""The tutorial, typed as it is printed, section by section in one folder; its last section is tested with Airflow."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.integration.docs.shell import read_section, type_block, type_line

pytestmark = [pytest.mark.integration, pytest.mark.spark, pytest.mark.timeout(600)]
PROJECT = Path("catalog/fx_conversion.yaml")
SCENARIO = Path("scenarios/fx_conversion.yaml")


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def read_blocks(title: str) -> list[str]:
    return [text for _, text in read_section("tutorial.md", title)]


@pytest.mark.usefixtures("commands_share_spark")
def test_every_command_of_the_tutorial_does_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AIRFLOW_RUNTIME_ALLOW_AS", "")  # which a section sets
    for section in (start, run, change_the_project, say_what_it_promises, close_a_month, restate_a_month):
        section()


def start() -> None:
    (block,) = read_blocks("A project to start from")
    assert "valid: 2 datasets, 1 project" in type_block(block)[-1]


def run() -> None:
    one, several = read_blocks("Run it")
    assert "Account Totals version 1" in type_block(one)[0]
    _, runs, datasets = type_block(several)
    assert runs.count("2026-01") == 2
    assert "Account Totals" in datasets


def change_the_project() -> None:
    operation, command = read_blocks("Change the project")
    replace(PROJECT, "    - seq: 20\n", f"{operation}    - seq: 20\n")
    assert "CATALOG_005" in str(type_line(command.strip(), status=1))
    replace(PROJECT, "  version: 1\n", "  version: 2\n")
    type_block(command)


def say_what_it_promises() -> None:
    command, row = read_blocks("Say what it promises")
    assert "1 passed, 0 failed" in type_block(command)[0]
    last = row.splitlines()[-1]
    replace(SCENARIO, "  - dataset: exchange-rates\n", f"{last}\n  - dataset: exchange-rates\n")
    failed = str(type_line(command.strip(), status=1))
    assert "refunds" in failed
    assert "140.00" in failed


def close_a_month() -> None:
    (block,) = read_blocks("Close a month")
    close, run_again = block.splitlines()
    type_line(close)
    assert "PERIOD_002" in str(type_line(run_again, status=1))


def restate_a_month() -> None:
    said: list[str] = []
    for language, text in read_section("tutorial.md", "Restate a month"):
        if language == "yaml" and text.startswith("project:"):
            Path("catalog/quarter_totals.yaml").write_text(text, encoding="utf-8")
        elif language == "yaml":
            replace(PROJECT, "  version: 2\n", f"  version: 3\n{text}")
        else:
            said += type_block(text)

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
