"""Which registry a command uses, and that reading makes none."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from click.testing import CliRunner

from airflow_provider_runtime.cli.main import command as root_command
from airflow_provider_runtime.cli.registries import choose_registry
from airflow_provider_runtime.core.registry.sql import open_registry


@pytest.fixture
def parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "books" / "catalog").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_default_registry_is_beside_the_catalog_whatever_the_working_folder(
    parent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from_parent = choose_registry(None, Path("books/catalog"))
    monkeypatch.chdir(parent / "books")
    from_books = choose_registry(None, Path("catalog"))
    assert from_parent.file is not None
    assert from_books.file is not None
    assert from_parent.file.resolve() == from_books.file.resolve() == parent / "books" / ".runtime" / "registry.db"
    assert from_parent.state.resolve() == from_books.state.resolve()


def test_lock_reaches_a_run_from_another_working_folder(parent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(parent / "books")
    lock = ["periods", "--lock", "2026-01", "--reason", "audited"]
    assert CliRunner().invoke(root_command, lock).exit_code == 0
    monkeypatch.chdir(parent)
    shown = CliRunner().invoke(root_command, ["periods", "--catalog", "books/catalog"])
    assert "audited" in shown.stdout


def test_registry_in_the_working_folder_is_still_used_and_announced(parent: Path) -> None:
    open_registry("sqlite:///.runtime/registry.db").close()
    result = CliRunner().invoke(root_command, ["runs", "--catalog", "books/catalog"])
    assert result.stdout == "no runs yet\n"
    assert "using the registry of the working folder, .runtime/registry.db, not" in result.stderr


@pytest.mark.parametrize("command", ["runs", "datasets", "periods"])
def test_command_that_only_reads_says_that_there_is_no_registry_and_makes_none(parent: Path, command: str) -> None:
    result = CliRunner().invoke(root_command, [command, "--catalog", "books/catalog"])
    assert result.exit_code == 0
    assert "there is no registry yet" in result.stderr
    assert not list(parent.rglob(".runtime"))


def test_new_registry_is_announced_and_its_folder_is_private(parent: Path) -> None:
    close = ["periods", "--catalog", "books/catalog", "--close", "2026-01", "--reason", "done"]
    result = CliRunner().invoke(root_command, close)
    assert "made a new registry" in result.stderr
    assert stat.S_IMODE((parent / "books" / ".runtime").stat().st_mode) == 0o700
    assert "made a new registry" not in CliRunner().invoke(root_command, close).stderr


def test_existing_folder_keeps_its_mode(parent: Path) -> None:
    shared = parent / "books" / ".runtime"
    shared.mkdir(mode=0o750)
    CliRunner().invoke(
        root_command, ["periods", "--catalog", "books/catalog", "--close", "2026-01", "--reason", "done"]
    )
    assert stat.S_IMODE(shared.stat().st_mode) == 0o750


def test_snapshots_are_read_from_the_folder_of_the_registry(parent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from_parent = choose_registry(None, Path("books/catalog")).snapshots.folder
    named = choose_registry("sqlite:///books/.runtime/registry.db", Path("elsewhere"))
    monkeypatch.chdir(parent / "books")
    assert from_parent == choose_registry(None, Path("catalog")).snapshots.folder == parent / "books"
    assert (named.state, named.snapshots.folder) == (parent / "books" / ".runtime", parent / "books")


@pytest.mark.parametrize(
    "command",
    [
        ("run", "--project", "p", "--period", "2026-01"),
        ("diff", "--project", "p", "--period", "2026-01"),
        ("plan",),
        ("status",),
        ("runs",),
        ("periods", "--close", "2026-01", "--reason", "done"),
        ("checks", "--project", "p", "--period", "2026-01", "--override", "c", "--reason", "known"),
        ("publish", "run-1"),
        ("discard", "run-1"),
    ],
)
def test_mistyped_catalog_makes_no_folder(tmp_path: Path, command: tuple[str, ...]) -> None:
    CliRunner().invoke(root_command, [*command, "--catalog", str(tmp_path / "typo" / "catalog")])
    assert list(tmp_path.iterdir()) == []
