"""What the pages say can be followed: snippets are valid, links lead somewhere, commands and options exist."""

from __future__ import annotations

import ast
import importlib
import json
import re
import shlex
from pathlib import Path

import click
import pytest

from airflow_provider_runtime.cli.main import COMMANDS
from airflow_provider_runtime.core.catalog.loader import load_catalog, load_texts
from airflow_provider_runtime.core.planning.check.project import ProjectChecks
from airflow_provider_runtime.core.planning.check.validation import validate_catalog
from airflow_provider_runtime.core.rendering import render_problems
from airflow_provider_runtime.scenarios.loading import load_scenarios

ROOT = Path(__file__).resolve().parents[3]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
SNIPPET = re.compile(r"^```(?P<kind>\w+)\n(?P<text>.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
DOCUMENT = re.compile(r"^(calendar|datasource|resolver|dataset|project):", re.MULTILINE)


def list_snippets(kind: str) -> list[object]:
    found = []
    for page in PAGES:
        text = page.read_text("utf-8")
        for match in SNIPPET.finditer(text):
            if match["kind"] == kind:
                line = text[: match.start()].count("\n") + 1
                found.append(pytest.param(match["text"], id=f"{page.relative_to(ROOT)}:{line}"))
    return found


@pytest.mark.parametrize("text", list_snippets("yaml"))
def test_yaml_snippet_is_valid(text: str, tmp_path: Path) -> None:
    for key, rest in (("expect:", ""), ("data:", "expect: {error: {code: DATA_001}}\n")):
        if text.startswith(key):
            text = f"scenario: s\nrun: {{project: p, period: 2026-01}}\n{text}{rest}"
            break
    if re.search(r"^scenario:", text, re.MULTILINE):
        path = tmp_path / "scenario.yaml"
        path.write_text(text, encoding="utf-8")
        assert [loaded.problems for loaded in load_scenarios([path])] == [()]
        return
    if not DOCUMENT.search(text):
        text = _complete(text)
    loaded = load_texts({"snippet.yaml": text})
    problems = [str(problem) for problem in loaded.problems if problem.code in ("CATALOG_001", "CATALOG_002")]
    assert problems == []


def _complete(text: str) -> str:
    """Return a fragment of a project (operations, checks, or the airflow or publication block) as a whole document."""
    head = "project:\n  id: p\n  name: p\n  version: 1\n  input_dataset_id: d\n"
    lines = text.splitlines()
    if "operations:" in lines:
        body = "".join(f"  {line}\n" for line in lines)
    elif lines[0].startswith("checks:"):
        indented = "".join(f"  {line}\n" for line in lines)
        body = "  operations: [{seq: 1, name: n, type: delete, arguments: {}}]\n" + indented
    elif lines[0].strip().startswith(("airflow:", "publication:")):
        body = "  operations: [{seq: 1, name: n, type: delete, arguments: {}}]\n" + text
    else:
        indent = len(lines[0]) - len(lines[0].lstrip())
        body = "  operations:\n" + "".join(f"    {line[indent:]}\n" for line in lines)
    return head + body


def test_readme_catalog_is_valid_as_a_whole() -> None:
    loaded = load_texts({"catalog.yaml": _find_readme_catalog()})
    definition = loaded.catalog.find_project("shop-sales")
    assert definition is not None
    assert loaded.problems == ()
    assert ProjectChecks(loaded.catalog).check(definition).problems == ()


def test_readme_project_is_the_one_of_its_scenario() -> None:
    readme = load_texts({"catalog.yaml": _find_readme_catalog()}).catalog.find_project("shop-sales")
    scenario = load_scenarios([ROOT / "tests" / "scenarios" / "readme_example.yaml"])[0].scenario
    assert readme is not None
    assert scenario is not None
    assert json.dumps(readme.raw) == json.dumps(_to_plain(scenario.projects[0]))


def _to_plain(value: object) -> object:
    from airflow_provider_runtime.core.model.base import to_plain

    return to_plain(value)


def _find_readme_catalog() -> str:
    text = (ROOT / "README.md").read_text("utf-8")
    return next(match["text"] for match in SNIPPET.finditer(text) if match["kind"] == "yaml")


@pytest.mark.parametrize("text", list_snippets("python"))
def test_python_snippet_imports_what_exists(text: str) -> None:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("airflow_provider_runtime.core"):
            module = importlib.import_module(node.module or "")
            assert all(hasattr(module, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("airflow_provider_runtime"):
            path = ROOT / (node.module or "").replace(".", "/")
            assert path.with_suffix(".py").exists() or (path / "__init__.py").exists()


@pytest.mark.parametrize("text", list_snippets("json"))
def test_json_snippet_is_json(text: str) -> None:
    json.loads(text)


@pytest.mark.parametrize("text", list_snippets("bash"))
def test_commands_and_options_of_snippet_exist(text: str) -> None:
    for line in text.replace("\\\n", " ").splitlines():
        for part in re.split(r"&&|;|>", line.split("#")[0]):
            words = shlex.split(part)
            if words[:1] == ["make"]:
                assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE), words
            if words[:1] == ["airflow-runtime"]:
                _check_command(words[1:])


def _check_command(words: list[str]) -> None:
    assert words[0] in COMMANDS, words
    command = importlib.import_module(f"airflow_provider_runtime.cli.{words[0]}").command
    known = {name for param in command.params if isinstance(param, click.Option) for name in param.opts}
    assert {word for word in words if word.startswith("--")} <= known, words


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = SNIPPET.sub("", page.read_text("utf-8"))
    for target in LINK.findall(text):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        assert path.exists(), target
        if anchor and path.suffix == ".md":
            assert anchor in _list_anchors(path), target


def _list_anchors(path: Path) -> set[str]:
    headings = HEADING.findall(SNIPPET.sub("", path.read_text("utf-8")))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def test_mistake_of_the_tutorial_is_reported_as_it_says() -> None:
    folder = ROOT / "airflow_provider_runtime" / "cli" / "starter" / "catalog"
    texts = {path.name: path.read_text("utf-8") for path in folder.glob("*.yaml")}
    name = "fx_conversion.yaml"
    texts[name] = texts[name].replace("ROUND(amount_local", "ROUND(amount_locl")
    loaded = load_texts(texts)
    definition = loaded.catalog.find_project("fx-conversion")
    assert definition is not None
    shown = render_problems(ProjectChecks(loaded.catalog).check(definition).problems)
    snippets = [match["text"].strip() for match in SNIPPET.finditer((ROOT / "docs" / "tutorial.md").read_text("utf-8"))]
    assert shown in snippets


def test_coverage_names_scenarios_that_exist() -> None:
    known = {f"{loaded.file.stem}: {loaded.name}" for loaded in load_scenarios([ROOT / "tests" / "scenarios"])}
    cells = re.findall(r"\| (?P<cell>[^|]+) \|$", (ROOT / "docs" / "coverage.md").read_text("utf-8"), re.MULTILINE)
    named = [cell for cell in cells if re.match(r"[a-z_]+: ", cell)]
    assert len(named) > 40
    assert set(named) - known == set()


DEVELOPERS = ("CONTRIBUTING.md", "docs/architecture.md", "docs/operating.md", "docs/coverage.md")
SOURCE = re.compile(r"`((?:core|spark_jobs|airflow_provider_runtime|tests|scripts|benchmarks|fast_start)/[\w/.*-]*)`")


@pytest.mark.parametrize("page", DEVELOPERS)
def test_files_that_pages_for_developers_name_exist(page: str) -> None:
    named = set(SOURCE.findall((ROOT / page).read_text("utf-8")))
    assert named
    for name in named:
        inside = "airflow_provider_runtime/" if name.startswith(("core/", "fast_start/")) else ""
        assert any(ROOT.glob(inside + name.rstrip("/"))), name


def test_decisions_are_all_in_their_list() -> None:
    folder = ROOT / "docs" / "decisions"
    listed = LINK.findall((folder / "README.md").read_text("utf-8"))
    assert listed == sorted(path.name for path in folder.glob("[0-9]*.md"))


def test_examples_catalog_is_valid() -> None:
    assert validate_catalog(ROOT / "dags_examples" / "catalog").problems == ()


def test_examples_have_scenarios_for_each_folder() -> None:
    folders = {path.name for path in (ROOT / "dags_examples" / "catalog").iterdir() if path.is_dir()}
    assert folders <= {path.stem for path in (ROOT / "dags_examples" / "scenarios").glob("*.yaml")}
    loaded = load_scenarios([ROOT / "dags_examples" / "scenarios"])
    assert all(scenario.scenario is not None for scenario in loaded)
    assert load_catalog(ROOT / "dags_examples" / "catalog").problems == ()


def test_recipes_of_the_cookbook_are_short() -> None:
    text = (ROOT / "docs" / "cookbook.md").read_text("utf-8")
    recipes = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    assert len(recipes) >= 8
    for recipe in recipes:
        (block,) = SNIPPET.finditer(recipe)
        assert block["kind"] in ("yaml", "bash")
        assert block["text"].count("\n") <= 40
