"""Hostile definitions and scenarios: each is accepted or refused with a message, and reaches nothing outside."""

from __future__ import annotations

import copy
import json
import os
import random
import unicodedata
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from airflow_provider_runtime.cli.resolve import command as resolve
from airflow_provider_runtime.cli.validate import command as validate
from airflow_provider_runtime.scenarios.loading import load_scenarios
from tests.unit.core.planning.test_hostile_snapshots import list_places

ROOT = Path(__file__).parents[4]
CATALOG = ROOT / "dags_examples" / "catalog" / "fx_close"
SCENARIOS = sorted((ROOT / "tests" / "scenarios").rglob("*.yaml"))
DOCUMENTS: list[Any] = [
    document for path in sorted(CATALOG.glob("*.yaml")) for document in yaml.safe_load_all(path.read_text())
]
TEXT = "\n---\n".join(path.read_text() for path in sorted(CATALOG.glob("*.yaml")))
HOSTILE: list[Any] = [
    "x\nFORGED: all is well", "x\r\nFORGED", "\x1b[2J\x1b[31mFORGED", "a\x00b", "\u202eFORGED\u202c", "\u2028FORGED",
    "../../../../etc/passwd", "/etc/passwd", "a/../../b", "{a,../../b}", "..", "~root", "file:///etc", "s3a://elsewhere/x",
    "x'; DROP TABLE books; --", 'x" OR "1"="1', "`; reflect('java.lang.System','exit',1)", "a`b", "${env:HOME}",
    "{{ 7*7 }}", "{{table_name}}/../{{identifier}}", "{% for x in y %}", "%(s)s %s {0}", "*/ reflect(1) /*",
    "=" * 300, "(" * 5000, "a" * 100_000, "NOT " * 3000, "1+" * 4000 + "1", "\U0001f600" * 50, "",
    None, True, -1, 2**63, 1.5, [], {}, [[]], {"a": {"b": []}}, ["x"], "!!python/object/apply:os.system ['id']",
]  # fmt: skip
FRAGMENTS = [
    *(item for item in HOSTILE if isinstance(item, str)),
    "\n- ",
    "\n  ",
    ": ",
    "&a *a",
    "<<: *x",
    "!!set",
    "\t",
    "#",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("hostile") / "catalog"
    made.mkdir()
    return made


def check_said(result: Result, code: int | None = None) -> None:
    """A status of its own, no traceback, and no line or colour that a name has made."""
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code in ({0, 1} if code is None else {code}), result.output
    assert "Traceback" not in result.output
    for line in result.output.split("\n"):
        assert not line.startswith("FORGED"), result.output
        hidden = [character for character in line if unicodedata.category(character) in {"Cc", "Zl", "Zp"}]
        assert not hidden, (hidden, line)
        assert not set(line) & set("\u202a\u202b\u202c\u202d\u202e"), line


def check_catalog(folder: Path, content: bytes) -> bool:
    (folder / "catalog.yaml").write_bytes(content)
    said = CliRunner().invoke(validate, ["--catalog", str(folder), "--format", "json"])
    check_said(said)
    document = json.loads(said.stdout)
    assert document["valid"] == (said.exit_code == 0)
    for error in document["errors"]:
        assert error["code"]
        assert error["message"]
    check_said(CliRunner().invoke(validate, ["--catalog", str(folder)]), said.exit_code)
    return bool(document["valid"])


def check_resolved(folder: Path, project: str) -> None:
    """Whatever is resolved is below the folders of its datasources."""
    registry = f"sqlite:///{folder.parent}/registry.db"
    arguments = ["--catalog", str(folder), "--project", project, "--period", "2026-01", "--registry", registry]
    said = CliRunner().invoke(resolve, [*arguments, "--timestamp", "2026-02-01T00:00:00Z"])
    check_said(said)
    if said.exit_code:
        return
    plan = json.loads(said.stdout)["plan"]
    places = [place for table in plan["tables"].values() for place in table["locations"]]
    places += [operation["destination"] for operation in plan["operations"] if operation["type"] == "output"]
    prefixes = [
        os.path.normpath(folder / str(item["datasource"].get("path_prefix") or "."))
        for item in yaml.safe_load_all((folder / "catalog.yaml").read_bytes())
        if isinstance(item, dict) and isinstance(item.get("datasource"), dict)
    ]
    for place in places:
        if place["kind"] == "files" and place["uri"].startswith("file:"):
            path = os.path.normpath(place["uri"].removeprefix("file://"))
            assert any(path.startswith(f"{prefix}/") for prefix in prefixes), (place, prefixes)


def mutate(documents: list[Any], chance: random.Random) -> list[Any]:
    changed = copy.deepcopy(documents)
    for _ in range(chance.randint(1, 2)):
        place = chance.choice([place for place in list_places(changed) if len(place) > 1])
        holder: Any = changed
        for key in place[:-1]:
            holder = holder[key]
        kind = chance.random()
        if kind < 0.1 and isinstance(holder, dict):
            holder[chance.choice([item for item in HOSTILE if isinstance(item, str)])] = holder.pop(place[-1])
        else:
            holder[place[-1]] = copy.deepcopy(chance.choice(HOSTILE))
    return changed


def find_project(documents: list[Any]) -> str | None:
    names = [
        item["project"].get("name")
        for item in documents
        if isinstance(item, dict) and "project" in item and isinstance(item["project"], dict)
    ]
    return next((name for name in names if isinstance(name, str) and name), None)


def try_seed(folder: Path, seed: int) -> None:
    chance = random.Random(seed)
    if chance.random() < 0.3:
        cuts = sorted(chance.sample(range(len(TEXT)), 2))
        content = (TEXT[: cuts[0]] + chance.choice(FRAGMENTS) + TEXT[cuts[chance.randint(0, 1)] :]).encode()
        check_catalog(folder, content)
        return
    documents = mutate(DOCUMENTS, chance)
    text = yaml.safe_dump_all(documents, allow_unicode=chance.random() < 0.5, sort_keys=False)
    valid = check_catalog(folder, text.encode("utf-8", "surrogatepass"))
    project = find_project(documents)
    if valid and project is not None and not project.startswith("-"):
        check_resolved(folder, project)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**9))
def test_changed_catalog_is_accepted_or_refused_with_a_message(folder: Path, seed: int) -> None:
    try_seed(folder, seed)


@pytest.mark.chaos
def test_thousands_of_changed_catalogs_are_accepted_or_refused_with_a_message(folder: Path) -> None:
    start = random.SystemRandom().randrange(10**9)
    for seed in range(start, start + int(os.environ.get("RUNTIME_EXAMPLES", "4000"))):
        try:
            try_seed(folder, seed)
        except Exception as failure:
            raise AssertionError(f"seed {seed}") from failure


@pytest.mark.parametrize("text", [item for item in HOSTILE if isinstance(item, str)], ids=lambda text: repr(text)[:30])
@pytest.mark.parametrize("field", ["project.name", "destination.path", "strategy.path", "register", "table", "dataset"])
def test_hostile_text_in_a_field_stays_where_it_belongs(folder: Path, field: str, text: str) -> None:
    documents = copy.deepcopy(DOCUMENTS)
    project = next(item["project"] for item in documents if item.get("project", {}).get("name") == "fx-close")
    outputs = [operation["arguments"] for operation in project["operations"] if operation["type"] == "output"]
    resolver = next(item["resolver"] for item in documents if "resolver" in item)
    dataset = next(item["dataset"] for item in documents if item.get("dataset", {}).get("id") == "gl-transactions")
    if field == "project.name":
        project["name"] = text
    elif field == "destination.path":
        outputs[0]["destination"]["path"] = text
    elif field == "strategy.path":
        resolver["rules"][0]["strategy"]["path"] = text
    elif field == "register":
        outputs[1]["register_as_dataset"] = text
    elif field == "table":
        dataset["main_table"]["name"] = text
    else:
        dataset["name"] = text
    if check_catalog(folder, yaml.safe_dump_all(documents, sort_keys=False).encode()):
        check_resolved(folder, "fx-close")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**9))
def test_changed_scenario_is_accepted_or_refused_with_a_message(folder: Path, seed: int) -> None:
    chance = random.Random(seed)
    path = chance.choice(SCENARIOS)
    documents = [item for item in yaml.safe_load_all(path.read_text("utf-8")) if item]
    file = folder.parent / "scenario.yaml"
    file.write_text(yaml.safe_dump_all(mutate(documents, chance), sort_keys=False), "utf-8", "surrogatepass")
    for scenario in load_scenarios([file]):
        assert scenario.scenario is not None or scenario.problems
