"""The second half of a staged run, killed, overtaken or repeated at each step, with plain files in place of Spark's."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contract.hidden_folder import LockMark, get_hidden_folder, get_lock_uri
from spark_jobs.contract.report import OutputReport
from spark_jobs.errors import JobError
from spark_jobs.sinks import file_output, outputs
from spark_jobs.sinks.publish import Publication
from spark_jobs.spark.storage import LocalStorage
from tests.spark_jobs.publishing import make_output, make_snapshot

STEPS = ("make_folder", "move", "exchange", "list", "exists", "delete", "write_bytes", "copy_file")
FAR = 4_000_000_000_000
SETTINGS = pytest.mark.parametrize(
    ("overwrites", "can_exchange"), [(False, True), (False, False), (True, True), (True, False)]
)


class Killed(BaseException):
    """The end of a process at some step."""


class SteppingStorage(LocalStorage):
    """Local files; calls something before each step."""

    can_exchange = True

    def __init__(self, before_step: Callable[[], None]) -> None:
        self._before_step = before_step

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name not in STEPS:
            return found

        def step(*arguments: Any) -> Any:
            self._before_step()
            if name == "exchange" and not SteppingStorage.can_exchange:
                return False
            return found(*arguments)

        return step


class Books:
    """Two tables below a folder, and attempts that write them."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, *, overwrites: bool) -> None:
        self.tables = [folder / "lines", folder / "totals"]
        self.mode: Any = "overwrite" if overwrites else "replace_period"
        self._monkeypatch = monkeypatch

    def open(
        self, token: int, nonce: str | None = None, before_step: Callable[[], None] = lambda: None, **project: str
    ) -> Publication:
        written = [make_output(f"file://{table}", seq=seq) for seq, table in enumerate(self.tables, 50)]
        snapshot = make_snapshot([replace(output, write_mode=self.mode) for output in written])
        snapshot = replace(snapshot, project=replace(snapshot.project, **project))
        storage = SteppingStorage(before_step)
        for module in (file_output, outputs):
            self._monkeypatch.setattr(module, "open_storage", lambda uri, spark: storage)
        return Publication(None, snapshot, token, nonce)  # type: ignore[arg-type]

    def write(self, publication: Publication, text: str) -> None:
        publication.begin()
        for output in publication._outputs.values():
            folder = Path(output._files.uri.removeprefix("file://"))  # type: ignore[attr-defined]
            folder.mkdir(parents=True)
            (folder / f"part-0-{text}.parquet").write_text(text)

    def stage(self, token: int, text: str) -> tuple[OutputReport, ...]:
        publication = self.open(token)
        self.write(publication, text)
        return publication.keep_staged(FAR)

    def publish(self, token: int, text: str, **project: str) -> None:
        publication = self.open(token, **project)
        self.write(publication, text)
        publication.publish()

    def publish_staged(
        self, token: int, staged: tuple[OutputReport, ...], before_step: Callable[[], None] = lambda: None
    ) -> None:
        assert staged[0].staged is not None
        self.open(token, staged[0].staged.nonce, before_step).publish_staged(staged)

    def discard(self, token: int, staged: tuple[OutputReport, ...]) -> None:
        assert staged[0].staged is not None
        self.open(token, staged[0].staged.nonce).discard_staged(staged)

    def read(self) -> list[list[str]]:
        return [[path.read_text() for path in sorted(table.glob("period=*/*"))] for table in self.tables]


@dataclass
class Interruption:
    """A publication of staged rows, before one step of which something happens."""

    books: Books
    staged: tuple[OutputReport, ...]
    steps_left: int
    has_come: bool = False

    def publish(self, act: Callable[[], None]) -> None:
        def before_step() -> None:
            self.steps_left -= 1
            if self.steps_left == 0:
                self.has_come = True
                act()

        self.books.publish_staged(2, self.staged, before_step)


def interrupt_each_step(folder: Path, monkeypatch: pytest.MonkeyPatch, *, overwrites: bool) -> Iterator[Interruption]:
    """Yield interruptions of equal publications, one for each step, and one that comes too late."""
    for steps in range(1, 200):
        books = Books(folder / str(steps), monkeypatch, overwrites=overwrites)
        books.publish(1, "old")
        found = Interruption(books, books.stage(2, "new"), steps)
        yield found
        if not found.has_come:
            assert steps > 20
            return
    pytest.fail("the publication never came to an end")


def kill() -> None:
    raise Killed


@pytest.fixture(autouse=True)
def _power_stays_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for no disk: processes end here, and machines do not."""
    monkeypatch.setattr("os.fsync", lambda _: None)


@SETTINGS
def test_publishing_that_is_killed_at_any_step_is_completed_by_the_next_try(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overwrites: bool, can_exchange: bool
) -> None:
    monkeypatch.setattr(SteppingStorage, "can_exchange", can_exchange)
    for killed in interrupt_each_step(tmp_path, monkeypatch, overwrites=overwrites):
        books = killed.books
        assert books.read() == [["old"], ["old"]]
        with contextlib.suppress(Killed):
            killed.publish(kill)
        seen = [rows for rows in books.read() if rows]
        assert all(rows in (["old"], ["new"]) for rows in seen)
        if can_exchange:
            assert len(seen) == 2
        books.publish_staged(2, killed.staged)
        assert books.read() == [["new"], ["new"]]
        books.publish(3, "newer")
        assert books.read() == [["newer"], ["newer"]]


@SETTINGS
def test_publishing_that_is_overtaken_at_any_step_leaves_the_newer_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overwrites: bool, can_exchange: bool
) -> None:
    monkeypatch.setattr(SteppingStorage, "can_exchange", can_exchange)
    for overtaken in interrupt_each_step(tmp_path, monkeypatch, overwrites=overwrites):
        books = overtaken.books
        with contextlib.suppress(JobError):
            overtaken.publish(partial(books.publish, 3, "newer"))
        if overtaken.has_come:
            assert books.read() == [["newer"], ["newer"]]
            with pytest.raises(JobError, match="RUN_002"):
                books.publish_staged(2, overtaken.staged)
            assert books.read() == [["newer"], ["newer"]]


def test_publishing_twice_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    books = Books(tmp_path, monkeypatch, overwrites=False)
    staged = books.stage(2, "new")
    books.publish_staged(2, staged)
    books.publish_staged(2, staged)
    assert books.read() == [["new"], ["new"]]


@SETTINGS
def test_discarding_at_any_step_of_a_publication_leaves_old_or_new_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overwrites: bool, can_exchange: bool
) -> None:
    monkeypatch.setattr(SteppingStorage, "can_exchange", can_exchange)
    for discarded in interrupt_each_step(tmp_path, monkeypatch, overwrites=overwrites):
        books = discarded.books
        with contextlib.suppress(JobError):
            discarded.publish(partial(books.discard, 2, discarded.staged))
        books.publish(3, "newer")
        assert books.read() == [["newer"], ["newer"]]


def test_staged_rows_outlive_a_sweep_until_their_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from spark_jobs.sinks import attempts

    books = Books(tmp_path, monkeypatch, overwrites=False)
    staged = books.stage(2, "new")
    monkeypatch.setattr(attempts, "ABANDONED_SECONDS", -1.0)
    for output in books.open(9)._outputs.values():
        assert output.area is not None
        output.area._attempt = replace(output.area._attempt, period="2026-02")
        output.area.sweep()
    books.publish_staged(2, staged)
    assert books.read() == [["new"], ["new"]]


def test_period_that_another_project_has_written_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    books = Books(tmp_path, monkeypatch, overwrites=False)
    books.publish(1, "old")
    with pytest.raises(JobError, match="OUTPUT_002: period 2026-01 of this table was written by project 'fx'"):
        books.publish(2, "foreign", id="other-id", name="other")
    assert books.read() == [["old"], ["old"]]
    books.publish(3, "new")


def test_lock_of_another_registry_is_found_at_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    books = Books(tmp_path, monkeypatch, overwrites=False)
    books.publish(1, "old")
    staged = books.stage(2, "new")
    lock = Path(get_lock_uri(str(books.tables[1]), "gregorian", "2026-01"))
    lock.parent.mkdir(parents=True)
    lock.write_bytes(LockMark("ann", "audited", "2026-02-03").encode())
    with pytest.raises(JobError, match="PERIOD_002: period 2026-01 was locked by ann: audited"):
        books.publish(3, "newer")
    with pytest.raises(JobError, match="PERIOD_002"):
        books.publish_staged(2, staged)
    assert books.read() == [["old"], ["old"]]


def test_attempt_that_ended_ahead_of_the_clock_is_reported_with_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    books = Books(tmp_path, monkeypatch, overwrites=False)
    books.publish(4_102_444_800_000, "ahead")
    with pytest.raises(JobError) as caught:
        books.publish(1_770_000_000_000, "now")
    assert "4102444800000 (at 2100-01-01 00:00:00 UTC), which has ended: a clock was probably ahead" in str(
        caught.value
    )
    assert "(at 2026-02-02 02:40:00 UTC)" in str(caught.value)
    assert "runs --release" in str(caught.value.hint)
    assert caught.value.newest_token == 4_102_444_800_000


@pytest.mark.parametrize(
    ("table", "hidden"),
    [
        ("file:///lake/fx", "file:///lake/.fx.runtime"),
        ("file:///fx", "file:///.fx.runtime"),
        ("/lake/fx/", "/lake/.fx.runtime"),
        ("s3a://bucket/fx", "s3a://bucket/.fx.runtime"),
        ("s3a://bucket", "s3a://bucket/.runtime"),
    ],
)
def test_hidden_folder_is_beside_the_table(table: str, hidden: str) -> None:
    assert get_hidden_folder(table) == hidden


@pytest.mark.parametrize("overwrites", [False, True])
@pytest.mark.parametrize("change", [Path.unlink, lambda path: path.write_text("other rows")])
def test_staged_files_that_were_changed_are_not_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], object], overwrites: bool
) -> None:
    books = Books(tmp_path, monkeypatch, overwrites=overwrites)
    books.publish(1, "old")
    staged = books.stage(2, "new")
    (file,) = tmp_path.glob(".totals.runtime/staging/*/*/51/*.parquet")
    change(file)
    with pytest.raises(JobError, match=r"PLAN_001.*has changed since"):
        books.publish_staged(2, staged)
    assert books.read() == [["old"], ["old"]]
