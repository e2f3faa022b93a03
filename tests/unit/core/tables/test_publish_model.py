"""Every order of the steps of three attempts to commit to a table, with a crash and a lost answer, over the real code.

Each attempt notes the table's version, writes its file beside a mark, and commits. Every call to the store or to the
table is one step. An attempt is taken a step further by running its code again with the answers that it had before.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import pytest
from pyarrow import fs

from airflow_provider_runtime.core.errors import RuntimeProviderError
from airflow_provider_runtime.core.tables import CommitNote, CommitRequest, TableAddress
from airflow_provider_runtime.core.tables import committing as module
from airflow_provider_runtime.core.tables.committing import AnswerLostError, Change, HeadMovedError, commit_files
from airflow_provider_runtime.core.tables.folders import AttemptFolder
from spark_jobs.contract.report import UNCOMMITTED

ADDRESS = TableAddress("delta", "file:///lake/fx", "lake/fx")
LOST = AnswerLostError()
MOVED = HeadMovedError()
GONE = FileNotFoundError()
JANUARY, FEBRUARY = ("2026-01",), ("2026-02",)
Ended = str | None


class NextStep(BaseException):
    """Where the answers of an attempt end: the step that it would take now."""

    def __init__(self, *call: Any) -> None:
        self.call = call


class Seen(NamedTuple):
    """A file or a folder as a listing shows it."""

    path: str
    type: fs.FileType

    @property
    def base_name(self) -> str:
        return self.path.rpartition("/")[2]


class Head(NamedTuple):
    """The table after some commits."""

    history: tuple[CommitNote, ...]

    @property
    def version(self) -> str | None:
        return str(len(self.history)) if self.history else None

    @property
    def table_id(self) -> str | None:
        return "the table" if self.history else None

    @property
    def settings(self) -> dict[str, str]:
        return {}

    def find_newest_token(self, note: CommitNote) -> int:
        return max((known.token for known in self.history if known.run_key == note.run_key), default=0)

    def list_changes(self) -> list[Change]:
        return [Change(str(number + 1), note) for number, note in reversed([*enumerate(self.history)])]

    def find_changes_since(self, base: str | None) -> list[Change]:
        return [change for change in self.list_changes() if int(change.version) > int(base or 0)]

    def replaces_rows(self, change: Change, periods: tuple[str, ...]) -> bool:
        raise AssertionError("every commit has a note")


class Script:
    """Answers the calls of an attempt from a log; beyond it, it stops."""

    address = ADDRESS

    def __init__(self, log: tuple[Any, ...]) -> None:
        self._answers = iter(log)

    def ask(self, *call: Any) -> Any:
        for answer in self._answers:
            if isinstance(answer, Exception):
                raise answer
            return answer
        raise NextStep(*call)

    def translate_errors(self) -> AbstractContextManager[None]:
        return nullcontext()

    def open_folder(self, request: CommitRequest) -> AttemptFolder:
        return AttemptFolder(self, "data", request.note.folder)  # type: ignore[arg-type]

    def read_head(self) -> Head:
        return self.ask("read_head")

    def commit_on(self, head: Head, request: CommitRequest) -> str:
        return self.ask("commit_on", len(head.history), request.note)

    def get_file_info(self, asked: Any) -> Any:
        return self.ask("look", asked) if isinstance(asked, str) else self.ask("list", asked.base_dir, asked.recursive)

    def delete_file(self, path: str) -> None:
        self.ask("delete", path)

    def delete_dir(self, path: str) -> None:
        del path

    def open_output_stream(self, path: str) -> AbstractContextManager[None]:
        self.ask("write", path)
        return nullcontext()


@dataclass(frozen=True)
class Writer:
    """An attempt: the answers that it had, or how it ended."""

    note: CommitNote
    log: tuple[Any, ...] = ()
    ended: Ended = None
    lost: bool = False
    """Whether an answer to its commit was lost, so that the table may or may not refer to its files."""


@cache
def find_call(note: CommitNote, log: tuple[Any, ...]) -> tuple[Any, ...] | str:
    """Return the next step of an attempt, or how it ends now."""
    script = Script(log)
    try:
        base = script.ask("read_head").version
        script.ask("stage", note.folder)
        committed = commit_files(script, CommitRequest(note, (), ("part",), base=base, has_base=True, is_shared=True))
        return f"committed {committed.version}"
    except NextStep as step:
        return step.call
    except RuntimeProviderError as error:
        return error.code


@dataclass(frozen=True)
class World:
    """The table, its store, and the attempts."""

    history: tuple[CommitNote, ...]
    files: frozenset[str]
    writers: tuple[Writer, ...]
    faults: int
    """How many attempts may still die, and answers be lost."""

    def go_on(self, number: int, answer: Any, **changes: Any) -> World:
        writer = self.writers[number]
        lost = writer.lost or answer is LOST
        return self._put(number, replace(writer, log=(*writer.log, answer), lost=lost), **changes)

    def _put(self, number: int, writer: Writer, **changes: Any) -> World:
        writers = (*self.writers[:number], writer, *self.writers[number + 1 :])
        return replace(self, writers=writers, **changes)

    def list_next(self) -> Iterator[World]:
        """Yield the worlds that one step of one attempt can make of it."""
        for number, writer in enumerate(self.writers):
            if writer.ended is not None:
                continue
            call = find_call(writer.note, writer.log)
            if not isinstance(call, tuple):
                yield self._put(number, replace(writer, ended=call, log=()))
                continue
            yield from self._take(number, *call)
            if self.faults:
                for world in self._take(number, *call):
                    if not world.faults:
                        continue
                    crashed = replace(writer, ended="crashed", log=())
                    yield replace(world._put(number, crashed), faults=world.faults - 1)

    def _take(self, number: int, name: str, *arguments: Any) -> Iterator[World]:
        if name == "read_head":
            yield self.go_on(number, Head(self.history))
        elif name == "stage":
            made = {f"data/{arguments[0]}/{UNCOMMITTED}", f"data/{arguments[0]}/part"}
            yield self.go_on(number, None, files=self.files | made)
        elif name == "commit_on":
            yield from self._commit(number, *arguments)
        elif name == "look":
            kind = fs.FileType.File if arguments[0] in self.files else fs.FileType.NotFound
            yield self.go_on(number, Seen(arguments[0], kind))
        elif name == "list":
            yield self.go_on(number, self._list(*arguments))
        elif name == "write":
            yield self.go_on(number, None, files=self.files | {arguments[0]})
        else:
            answer = None if arguments[0] in self.files else GONE
            yield self.go_on(number, answer, files=self.files - {arguments[0]})

    def _list(self, folder: str, recursive: bool) -> tuple[Seen, ...]:
        below = sorted(path for path in self.files if path.startswith(f"{folder}/"))
        if recursive:
            return tuple(Seen(path, fs.FileType.File) for path in below)
        names = dict.fromkeys(path.removeprefix(f"{folder}/").partition("/")[0] for path in below)
        return tuple(Seen(f"{folder}/{name}", fs.FileType.Directory) for name in names)

    def _commit(self, number: int, base: int, note: CommitNote) -> Iterator[World]:
        if base != len(self.history):
            yield self.go_on(number, MOVED)
            return
        done = (*self.history, note)
        yield self.go_on(number, str(len(done)), history=done)
        if self.faults:
            yield self.go_on(number, LOST, history=done, faults=self.faults - 1)
            yield self.go_on(number, LOST, faults=self.faults - 1)


def make_writer(token: int, *, project: str = "close", periods: tuple[str, ...] = JANUARY, content: str = "") -> Writer:
    folder = f"runtime-{project}/{token:020d}-0-10"
    return Writer(CommitNote(project, "2026-01", "d" * 64, token, 10, folder, periods, content or None))


FIRST, RETRY = make_writer(1, content="c"), make_writer(2, content="c")
SETTINGS = {
    "a retry of equal rows, and another project": (FIRST, RETRY, make_writer(9, project="other")),
    "a retry of other rows, and another period": (FIRST, make_writer(2), make_writer(9, project="o", periods=FEBRUARY)),
    "three attempts": (FIRST, RETRY, make_writer(3, content="new")),
    "two attempts, two faults": (FIRST, RETRY),
    "another project overwrites the table": (FIRST, RETRY, make_writer(9, project="other", periods=())),
}


LONG = {"a retry of other rows, and another period", "three attempts"}
CASES = [
    pytest.param(writers, id=name, marks=[pytest.mark.chaos] if name in LONG else [])
    for name, writers in SETTINGS.items()
]


@pytest.mark.parametrize("writers", CASES)
def test_every_order_of_steps_keeps_files_tokens_and_other_rows(
    writers: tuple[Writer, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FIRST_PAUSE_SECONDS", 0)
    seen, todo = set(), [World((), frozenset(), writers, faults=4 - len(writers))]
    ends = set()
    while todo:
        world = todo.pop()
        if world in seen:
            continue
        seen.add(world)
        check(world)
        following = list(world.list_next())
        todo += following
        if not following:
            check_end(world)
            ends.add(tuple(writer.ended for writer in world.writers))
    assert len(seen) > 2_000
    assert any("RUN_002" in end for end in ends)
    assert any(all(str(ended).startswith("committed") for ended in end) for end in ends)


def check(world: World) -> None:
    """What always holds."""
    tokens: dict[tuple[str, str], int] = {}
    for number, note in enumerate(world.history):
        assert f"data/{note.folder}/part" in world.files, "a file that the table refers to is gone"
        assert note.token >= tokens.get(note.run_key, 0), "an older attempt has committed after a newer one"
        tokens[note.run_key] = note.token
        for before in reversed(world.history[:number]):
            if before.run_key != note.run_key and before.touches(note.periods):
                break
            if before.run_key == note.run_key:
                assert not note.is_same_publication(before), "the same rows were committed twice"
                break


def check_end(world: World) -> None:
    """What holds when all attempts are over."""
    for writer in world.writers:
        if str(writer.ended).startswith("committed"):
            noted = world.history[int(str(writer.ended).split()[1]) - 1]
            assert noted.run_key == writer.note.run_key
        elif writer.ended == "RUN_002" and Head(world.history).find_newest_token(writer.note) == writer.note.token:
            raise AssertionError("it was told to have published nothing")
        elif writer.ended == "RUN_002" and not writer.lost:
            assert writer.note not in world.history, "it was told to have published nothing"
    committed = {note.folder for note in world.history}
    crashed = {writer.note.folder for writer in world.writers if writer.ended == "crashed" or writer.lost}
    left = {path.removeprefix("data/").rpartition("/")[0] for path in world.files} - committed - crashed
    assert left == set(), "files of an attempt that is over are left behind"
