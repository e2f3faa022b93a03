"""Faults around a run: each gives an error with a code, leaves nothing half done, and is over with its cause."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_provider_runtime.core.errors import InfrastructureError, RuntimeProviderError
from airflow_provider_runtime.core.registry.sql import open_registry
from tests.integration.runs.workplace import Workplace, make_output, make_project, make_update, money

pytestmark = [pytest.mark.spark, pytest.mark.integration]

OLD = [("north", money("20.00"))]
NEW = [("north", money("2.00"))]


@pytest.fixture
def workplace(tmp_path: Path, spark: SparkSession) -> Iterator[Workplace]:
    """A project that registers its output, run once for the state that every fault must leave alone."""
    url = f"sqlite:///{tmp_path}/state/registry.db"
    registry = open_registry(url, patience_seconds=1.0)
    made = Workplace(tmp_path, registry, spark, url)
    output = make_output(20, "first", columns=["shop", "amount", "double"], register_as_dataset="Doubled Sales")
    made.write_catalog("first.yaml", make_project("first", [make_update(10, double="amount * 2"), output]))
    reader = [make_output(20, "reader", columns=["shop", "double"])]
    made.write_catalog("reader.yaml", make_project("reader", reader, input_dataset_id="Doubled Sales"))
    made.write_sales("2026-01", north="10.00")
    made.run("first", "2026-01")
    made.write_sales("2026-01", north="1.00")
    yield made
    registry.close()


def read_visible(workplace: Workplace) -> list[tuple[object, ...]]:
    return workplace.read("first", "shop", "double")


def try_once(workplace: Workplace, project: str = "first") -> RuntimeProviderError:
    """Run, and return the error that it must end with."""
    try:
        result = workplace.execute(workplace.resolve(project, "2026-01"))
    except RuntimeProviderError as error:
        return error
    assert not result.succeeded
    return RuntimeProviderError(result.problems)


def check_next_try(workplace: Workplace) -> None:
    workplace.run("first", "2026-01")
    assert read_visible(workplace) == NEW
    version = workplace.registry.find_version("Doubled Sales")
    assert version is not None
    assert version.version == 2
    assert len(version.slices) == 1
    files = [path for path in (workplace.folder / "out").rglob("*") if path.is_file()]
    # Beside the table, a hidden folder notes who has written which period.
    shown = [path for path in files if not path.name.endswith(".retired") and path.parent.name != "writers"]
    assert [path.parent.name for path in shown] == ["period=2026-01"]


@contextmanager
def mount_small(folder: Path, kilobytes: int) -> Iterator[Callable[[], None]]:
    """Put a small disk in a folder's place, with what the folder held; it grows when the given function is called."""
    held = folder.with_name(f"{folder.name}-held")
    folder.mkdir(parents=True, exist_ok=True)
    folder.rename(held)
    folder.mkdir()
    if _call("mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(folder)):
        pytest.skip("this user cannot mount a small disk")
    try:
        shutil.copytree(held, folder, dirs_exist_ok=True)
        yield lambda: _must("mount", "-o", "remount,size=64m", str(folder))
    finally:
        _must("umount", "-l", str(folder))


def fill(folder: Path) -> Path:
    """Use up what is left of a disk."""
    filler = folder / ".filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            return filler


@pytest.mark.parametrize("place", ["out", "slices", "snapshots"])
def test_full_disk_is_reported_and_the_next_try_works(workplace: Workplace, place: str) -> None:
    folder = workplace.folder / place
    with mount_small(folder, 256) as grow:
        filler = fill(folder)
        error = try_once(workplace)
        assert error.code == ("INFRA_001" if place == "snapshots" else "OUTPUT_003")
        assert "No space left" in str(error)
        assert error.retryable or place != "snapshots"
        assert read_visible(workplace) == OLD
        assert len(workplace.registry.list_versions("Doubled Sales")) == 1
        filler.unlink()
        grow()
        check_next_try(workplace)


def test_full_disk_under_the_registry_is_reported_and_the_next_try_works(workplace: Workplace) -> None:
    workplace.registry.close()
    with mount_small(workplace.folder / "state", 512) as grow:
        filler = fill(workplace.folder / "state")
        error = try_once(workplace)
        assert error.code == "INFRA_001"
        assert "full" in str(error)
        assert read_visible(workplace) == OLD
        filler.unlink()
        grow()
        check_next_try(workplace)
        workplace.registry.close()


@pytest.mark.parametrize("place", ["out", "out/.first.runtime", "slices", "snapshots", "out/first"])
def test_folder_that_cannot_be_written_is_reported_and_the_next_try_works(workplace: Workplace, place: str) -> None:
    folder = workplace.folder / place
    with make_unwritable(folder):
        error = try_once(workplace)
        assert error.code == ("INFRA_001" if place == "snapshots" else "OUTPUT_003")
        assert read_visible(workplace) == OLD
    check_next_try(workplace)


@contextmanager
def make_unwritable(folder: Path) -> Iterator[None]:
    """Refuse changes of a folder, to root too."""
    folders = [folder, *(path for path in folder.rglob("*") if path.is_dir())]
    if os.getuid() != 0:
        change: Callable[[str], Any] = lambda sign: [path.chmod(0o555 if sign == "+" else 0o755) for path in folders]  # noqa: E731
    elif _call("chattr", "+i", str(folder)):
        pytest.skip("this file system cannot make a folder immutable")
    else:
        change = lambda sign: _must("chattr", f"{sign}i", *map(str, folders))  # noqa: E731
    change("+")
    try:
        yield
    finally:
        change("-")


def test_file_where_the_output_wants_a_folder_is_reported_and_the_next_try_works(workplace: Workplace) -> None:
    table = workplace.folder / "out" / "first"
    aside = table.with_name("aside")
    table.rename(aside)
    table.write_text("in the way")
    error = try_once(workplace)
    assert error.code == "OUTPUT_003"
    assert table.read_text() == "in the way"
    table.unlink()
    aside.rename(table)
    check_next_try(workplace)


def test_locked_registry_is_reported_and_the_next_try_works(workplace: Workplace) -> None:
    with closing(sqlite3.connect(workplace.url.removeprefix("sqlite:///"), isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        error = try_once(workplace)
        assert isinstance(error, InfrastructureError)
        assert "locked" in str(error)
        assert read_visible(workplace) == OLD
        other.execute("ROLLBACK")
    check_next_try(workplace)


def test_registry_that_is_locked_briefly_is_waited_for(workplace: Workplace) -> None:
    other = sqlite3.connect(workplace.url.removeprefix("sqlite:///"), isolation_level=None, check_same_thread=False)
    other.execute("BEGIN EXCLUSIVE")
    timer = threading.Timer(0.4, other.execute, ("ROLLBACK",))
    timer.start()
    check_next_try(workplace)
    timer.join()
    other.close()


@pytest.mark.parametrize("damage", ["missing", "truncated", "empty", "garbage"])
def test_damaged_slice_is_reported_and_works_again_when_it_is_restored(workplace: Workplace, damage: str) -> None:
    workplace.run("reader", "2026-01")
    before = workplace.read("reader", "shop", "double")
    (file,) = (workplace.folder / "slices").rglob("*.parquet")
    content = file.read_bytes()
    if damage == "missing":
        file.unlink()
    else:
        file.write_bytes({"truncated": content[: len(content) // 2], "empty": b"", "garbage": b"PAR1" * 500}[damage])
    error = try_once(workplace, "reader")
    assert error.code == "DATA_001"
    assert workplace.read("reader", "shop", "double") == before
    file.write_bytes(content)
    workplace.run("reader", "2026-01")
    assert workplace.read("reader", "shop", "double") == before


def _call(*command: str) -> int:
    return subprocess.run(command, check=False, capture_output=True).returncode


def _must(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
