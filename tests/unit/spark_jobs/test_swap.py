"""The staged swap and its fence, with plain files in place of Spark's."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from spark_jobs.errors import JobError
from spark_jobs.sinks.attempts import Attempt, StagingArea
from spark_jobs.sinks.path import FileTable
from spark_jobs.spark.storage import LocalStorage, join_uri

STEPS = ("make_folder", "move", "exchange", "list", "exists", "delete", "compute_digest")
SHAPES = pytest.mark.parametrize(("before", "after"), [(1, 1), (1, 2), (2, 1), (2, 2), (0, 2)])
MODES = pytest.mark.parametrize("overwrite", [False, True])
STORAGES = pytest.mark.parametrize("can_exchange", [True, False])


class Publisher:
    """One attempt that stages texts and publishes them."""

    def __init__(
        self,
        table: Path,
        token: int,
        *,
        overwrite: bool = False,
        can_exchange: bool = True,
        project: str = "fx",
        period: str = "2026-01",
    ) -> None:
        self.storage = LocalStorage() if can_exchange else StorageWithoutExchange()
        attempt = Attempt(token, project, period, "a" * 64)
        self.area = StagingArea(self.storage, f"file://{table}", attempt)
        self.table = FileTable(self.storage, self.area, f"file://{table}", period, overwrite, token)
        self.staged = join_uri(self.area.folder, "50")
        self.published = False
        self._token = token

    def stage(self, text: str, files: int) -> None:
        folder = Path(self.staged.removeprefix("file://"))
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(files):
            (folder / f"part-{number}-{self._token}.txt").write_text(text)

    def run(self, text: str, files: int) -> None:
        self.area.claim()
        self.table.recover()
        self.stage(text, files)
        self.table.publish(self.staged)
        self.area.empty()

    def try_to_publish(self) -> None:
        with contextlib.suppress(JobError, KeyboardInterrupt):
            self.table.publish(self.staged)
            self.published = True


class StorageWithoutExchange(LocalStorage):
    def exchange(self, first: str, second: str) -> bool:
        return False


def read_table(table: Path) -> list[str]:
    return [path.read_text() for path in sorted(table.glob("period=2026-01/*"))]


@SHAPES
@MODES
@STORAGES
def test_publish_over_any_shape_shows_the_new_files_only(
    tmp_path: Path, before: int, after: int, overwrite: bool, can_exchange: bool
) -> None:
    table = tmp_path / "fx"
    if before:
        Publisher(table, 1).run("old", before)
    Publisher(table, 2, overwrite=overwrite, can_exchange=can_exchange).run("new", after)
    assert read_table(table) == ["new"] * after
    assert os.listdir(table) == ["period=2026-01"]


@SHAPES
@MODES
@STORAGES
@pytest.mark.parametrize("step", STEPS)
def test_zombie_stopped_at_any_step_leaves_the_newer_attempt_in_place(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    before: int,
    after: int,
    overwrite: bool,
    can_exchange: bool,
    step: str,
) -> None:
    """Runs a whole newer attempt right before each file system call of an older attempt's publication."""
    for position in range(100):
        table = tmp_path / str(position)
        if before:
            Publisher(table, 1).run("old", before)
        zombie = Publisher(table, 2, overwrite=overwrite, can_exchange=can_exchange)
        newer = Publisher(table, 3, overwrite=overwrite, can_exchange=can_exchange)
        zombie.area.claim()
        zombie.stage("zombie", after)
        refused: JobError | None = None
        reached = call_at(monkeypatch, step, position, lambda newer=newer: newer.run("new", after))
        try:
            zombie.table.publish(zombie.staged)
        except JobError as error:
            refused = error
        finally:
            monkeypatch.undo()
        assert refused is None or refused.code == "RUN_002"
        if not reached:
            assert read_table(table) == ["zombie"] * after
            return
        assert read_table(table) == ["new"] * after
    pytest.fail("the publication never came to an end")


@SHAPES
@MODES
@STORAGES
@pytest.mark.parametrize("step", STEPS)
def test_crash_at_any_step_is_completed_by_the_retry(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    before: int,
    after: int,
    overwrite: bool,
    can_exchange: bool,
    step: str,
) -> None:
    for position in range(100):
        table = tmp_path / str(position)
        if before:
            Publisher(table, 1).run("old", before)
        crashing = Publisher(table, 2, overwrite=overwrite, can_exchange=can_exchange)
        reached = call_at(monkeypatch, step, position, crash)
        try:
            crashing.run("new", after)
        except KeyboardInterrupt:
            assert read_table(table) in (["old"] * before, ["new"] * after) or not can_exchange
        finally:
            monkeypatch.undo()
        Publisher(table, 3, overwrite=overwrite, can_exchange=can_exchange).run("new", after)
        assert read_table(table) == ["new"] * after
        staging = tmp_path / f".{position}.runtime" / "staging"
        assert [path for path in staging.rglob("*") if path.is_file()] == []
        if not reached:
            return
    pytest.fail("the publication never came to an end")


@pytest.mark.parametrize("files", [1, 4])
@STORAGES
def test_reader_that_polls_sees_old_or_new_never_a_mixture(tmp_path: Path, files: int, can_exchange: bool) -> None:
    table = tmp_path / "fx"
    Publisher(table, 1).run("x", files)
    stop = threading.Event()
    seen: set[tuple[str, ...]] = set()

    def poll() -> None:
        while not stop.is_set():
            try:
                names = sorted(os.listdir(table / "period=2026-01"))
                seen.add(tuple((table / "period=2026-01" / name).read_text() for name in names))
            except FileNotFoundError:
                continue

    reader = threading.Thread(target=poll)
    reader.start()
    try:
        for token in range(2, 120):
            Publisher(table, token, can_exchange=can_exchange).run("xy"[token % 2], files)
    finally:
        stop.set()
        reader.join()
    assert seen <= {("x",) * files, ("y",) * files}
    assert len(seen) == 2


@pytest.mark.parametrize("files", [1, 3])
def test_equal_files_are_found_and_left_alone(tmp_path: Path, files: int) -> None:
    table = tmp_path / "fx"
    Publisher(table, 1).run("same", files)
    before = [path.stat().st_ino for path in sorted(table.rglob("*"))]
    Publisher(table, 2).run("same", files)
    assert [path.stat().st_ino for path in sorted(table.rglob("*"))] == before


def test_older_attempt_that_begins_late_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    Publisher(tmp_path / "fx", 5).run("new", 1)
    older = Publisher(tmp_path / "fx", 4)
    with pytest.raises(JobError, match="RUN_002"):
        older.area.claim()
    assert not Path(older.area.folder.removeprefix("file://")).exists()


def test_older_attempt_is_refused_when_the_newer_one_was_swept_long_ago(tmp_path: Path) -> None:
    Publisher(tmp_path / "fx", 5).run("new", 1)
    (swept,) = (tmp_path / ".fx.runtime" / "staging").iterdir()
    os.utime(swept, (0, 0))
    Publisher(tmp_path / "fx", 6, period="2026-02").area.sweep()
    assert not swept.exists()
    older = Publisher(tmp_path / "fx", 4)
    with pytest.raises(JobError, match="RUN_002"):
        older.area.claim()
    assert not Path(older.area.folder.removeprefix("file://")).exists()
    Publisher(tmp_path / "fx", 7).run("newest", 1)
    assert read_table(tmp_path / "fx") == ["newest"]


def test_second_driver_with_the_same_token_replaces_the_first(tmp_path: Path) -> None:
    first, second = Publisher(tmp_path / "fx", 4), Publisher(tmp_path / "fx", 4)
    first.area.claim()
    first.stage("first", 1)
    second.area.claim()
    second.stage("second", 1)
    with pytest.raises(JobError, match="RUN_002"):
        first.table.publish(first.staged)
    second.table.publish(second.staged)
    assert read_table(tmp_path / "fx") == ["second"]


def test_first_driver_that_stages_more_after_the_second_published_is_refused(tmp_path: Path) -> None:
    first, second = Publisher(tmp_path / "fx", 4), Publisher(tmp_path / "fx", 4)
    first.area.claim()
    first.stage("first", 1)
    second.run("second", 2)
    first.stage("first", 1)
    with pytest.raises(JobError, match="RUN_002"):
        first.table.publish(first.staged)
    assert read_table(tmp_path / "fx") == ["second", "second"]


def test_reader_that_has_listed_the_old_file_never_finds_another_one_under_its_name(tmp_path: Path) -> None:
    table = tmp_path / "fx"
    Publisher(table, 1).run("old", 1)
    (listed,) = table.glob("period=2026-01/*")
    Publisher(table, 2).run("new and longer", 1)
    assert not listed.exists()
    assert read_table(table) == ["new and longer"]


@pytest.mark.parametrize(("died_as", "tried_as"), [("table", "period"), ("period", "table")])
def test_other_periods_survive_a_change_of_the_write_mode_after_a_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, died_as: str, tried_as: str
) -> None:
    """What an attempt has put aside goes back to where it was, whatever the next attempt replaces."""
    table = tmp_path / "fx"
    Publisher(table, 1).run("january", 1)
    (table / "period=2025-12").mkdir()
    (table / "period=2025-12" / "part.txt").write_text("december")
    dying = Publisher(table, 2, overwrite=died_as == "table", can_exchange=False)
    dying.area.claim()
    dying.stage("new", 1)
    put_aside = dying.area.put_aside
    monkeypatch.setattr(dying.area, "put_aside", lambda uri: put_aside(uri) and crash())
    with pytest.raises(KeyboardInterrupt):
        dying.table.publish(dying.staged)
    assert read_table(table) == []
    next_one = Publisher(table, 3, overwrite=tried_as == "table", can_exchange=False)
    next_one.area.claim()
    next_one.table.recover()
    assert read_table(table) == ["january"]
    assert (table / "period=2025-12" / "part.txt").read_text() == "december"


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("case", ["the overwrite goes on", "the overwrite dies then", "the overwrite dies inside"])
def test_periods_survive_an_overwrite_that_meets_a_publication_of_another_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str, step: str
) -> None:
    """One replaces all periods by its own, another one publishes a period, and either is interrupted by the other."""
    others = {"period=2025-01", "period=2025-02"}
    for position in range(100):
        table = tmp_path / str(position)
        for number in (1, 2):
            Publisher(table, number, period=f"2025-0{number}").run("old", 1)
        total = Publisher(table, 4, overwrite=True, can_exchange=False, project="total", period="2025-12")
        month = Publisher(table, 3, can_exchange=False)
        for publisher in (total, month):
            publisher.area.claim()
            publisher.stage("new", 1)
        first, second = (month, total) if case == "the overwrite dies inside" else (total, month)
        dies = crash if case == "the overwrite dies then" else lambda: None
        if case == "the overwrite dies inside":
            put_aside = total.area.put_aside
            monkeypatch.setattr(total.area, "put_aside", lambda uri, put=put_aside: put(uri) and crash())
        reached = call_at(monkeypatch, step, position, lambda it=second, dies=dies: (it.try_to_publish(), dies()))
        first.try_to_publish()
        monkeypatch.undo()
        Publisher(table, 5, period="2026-02", can_exchange=False).run("next", 1)
        found = set(os.listdir(table))
        assert others & found == (set() if "period=2025-12" in found else others)
        assert "period=2025-12" in found or (not total.published and (not month.published or "period=2026-01" in found))
        if not reached:
            return
    pytest.fail("the publication never came to an end")


def crash() -> None:
    raise KeyboardInterrupt


def call_at(monkeypatch: pytest.MonkeyPatch, step: str, position: int, interrupt: Callable[[], None]) -> Sequence[bool]:
    """Have something happen right before the call number `position` of a step; the result is filled when it did."""
    original = getattr(LocalStorage, step)
    calls: list[str] = []
    reached: list[bool] = []

    def stop(self: LocalStorage, *arguments: str) -> object:
        calls.append(step)
        if len(calls) == position + 1 and not reached:
            reached.append(True)
            interrupt()
        return original(self, *arguments)

    monkeypatch.setattr(LocalStorage, step, stop)
    return reached


@STORAGES
@pytest.mark.parametrize("files", [1, 2])
@pytest.mark.parametrize(("overwrite", "is_table"), [(False, False), (True, False), (True, True)])
def test_link_in_the_place_of_a_folder_is_replaced_and_what_it_leads_to_stays(
    tmp_path: Path, *, overwrite: bool, can_exchange: bool, files: int, is_table: bool
) -> None:
    table, elsewhere = tmp_path / "t", tmp_path / "elsewhere"
    period = elsewhere / "period=2026-01" if is_table else elsewhere
    period.mkdir(parents=True)
    for name in ("part-00000.txt", ".part-00000.txt.crc", "b.txt"):
        (period / name).write_text("theirs")
    link = table if is_table else table / "period=2026-01"
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(elsewhere, target_is_directory=True)
    if files == 1:
        (period / "b.txt").unlink()
    before = {path: path.read_text() for path in period.iterdir()}
    Publisher(table, 1, overwrite=overwrite, can_exchange=can_exchange).run("ours", files)
    assert read_table(table) == ["ours"] * files
    assert not table.is_symlink()
    assert not (table / "period=2026-01").is_symlink()
    assert {path: path.read_text() for path in period.iterdir()} == before
