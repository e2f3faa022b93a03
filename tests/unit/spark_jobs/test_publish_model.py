"""Every order of the steps of three attempts, with two crashes and one lost answer, over the job's own code.

Each attempt runs the real `Publication`: it claims its table, has rows staged, and publishes. Its file system is a
value; every call that it makes there is one step. An attempt is taken a step further by running its code again with the
answers it had before, so that worlds can be copied and each be left in every possible way.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar

import pytest

from spark_jobs.errors import JobError
from spark_jobs.sinks import attempts, file_output
from spark_jobs.sinks import publish as publish_module
from spark_jobs.sinks.publish import Publication
from spark_jobs.spark.storage import Entry
from tests.spark_jobs.publishing import make_output, make_snapshot

TABLE = "file:///lake/fx"
PERIOD = f"{TABLE}/period=2026-01"
Files = Mapping[str, str | None]
"""Path to content; None is a folder."""


MISSING = FileNotFoundError(errno.ENOENT, "no such file")
IN_THE_WAY = FileExistsError(errno.EEXIST, "in the way")
LOST = OSError(errno.EIO, "the answer was lost")


class NextStep(BaseException):
    """Where the answers of an attempt end: the step that it would take now."""

    def __init__(self, call: tuple[str, ...]) -> None:
        self.call = call


class ModelStorage:
    """A file system whose answers are those of a log; beyond them it stops."""

    log: ClassVar[tuple[Any, ...]] = ()
    position: ClassVar[int] = 0

    def is_link(self, uri: str) -> bool:
        """There are no links here, and asking is not a step that others could come before."""
        del uri
        return False

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: str) -> Any:
            here = ModelStorage.position
            if here == len(ModelStorage.log):
                raise NextStep((name, *arguments))
            ModelStorage.position += 1
            answer = ModelStorage.log[here]
            if isinstance(answer, OSError):
                raise answer
            return answer

        return call


@dataclass(frozen=True)
class Setting:
    """What kind of publication it is."""

    files: int
    exchanges: bool
    overwrite: bool


@dataclass(frozen=True)
class Writer:
    """An attempt: the answers that it had, or how it ended."""

    log: tuple[Any, ...] = ()
    state: str = "running"
    """running, published, refused, failed, crashed"""
    claimed: bool = False
    step: tuple[str, ...] | None = None
    """What it does next: the name of a call and its arguments."""


@dataclass(frozen=True)
class World:
    files: Files
    writers: tuple[Writer, ...]
    crashes: int
    losses: int
    switches: int | None = None
    """How often an attempt may still be interrupted by another one; None for any number."""
    last: int = 0

    def key(self) -> tuple[Any, ...]:
        turn = () if self.switches is None else (self.switches, self.last)
        return (frozenset(self.files.items()), self.writers, self.crashes, self.losses, turn)

    def list_turns(self) -> Iterator[tuple[int, World]]:
        """The attempts that can take a step, each with the world in which it is its turn."""
        for number, writer in enumerate(self.writers):
            if writer.state != "running":
                continue
            interrupts = number != self.last and self.writers[self.last].state == "running"
            if self.switches is None or not interrupts:
                yield number, replace(self, last=number)
            elif self.switches:
                yield number, replace(self, last=number, switches=self.switches - 1)


SNAPSHOTS = "aab"
"""Attempts 0 and 1 are tries of the same snapshot, attempt 2 is one of another."""


def list_content(setting: Setting, number: int) -> dict[str, str]:
    """What an attempt writes; names differ between attempts, as Spark's do."""
    return {f"part-{index}-{number}.parquet": f"{SNAPSHOTS[number]}{index}" for index in range(setting.files)}


@cache
def run_attempt(setting: Setting, number: int, log: tuple[Any, ...]) -> Writer:
    """Run an attempt with the answers it had; return its state and the step that it takes next."""
    ModelStorage.log, ModelStorage.position = log, 0
    CURRENT.number = number
    storage: Any = ModelStorage()
    claimed = False
    mode = "overwrite" if setting.overwrite else "replace_period"
    snapshot = make_snapshot([make_output(TABLE, write_mode=mode)], sha256=SNAPSHOTS[number] * 64)
    publication = Publication(None, snapshot, number + 1)  # type: ignore[arg-type]
    try:
        try:
            publication.begin()
            claimed = True
            folder = publication._outputs[50]._files.uri  # type: ignore[attr-defined]
            for name, content in list_content(setting, number).items():
                storage.write_bytes(f"{folder}/{name}", content)
            publication.publish()
        except Exception:
            publication.abandon()
            raise
    except NextStep as step:
        return Writer(log, "running", claimed, step.call)
    except JobError as error:
        return Writer((), "refused" if error.code == "RUN_002" else "failed", claimed)
    return Writer((), "published", claimed)


class CURRENT:
    number = 0

    @staticmethod
    def token_hex(_size: int) -> str:
        return f"{CURRENT.number}x{ModelStorage.position}"


def answer(files: Files, setting: Setting, call: tuple[str, ...]) -> tuple[Files, Any]:
    """Return the file system after a step, and the step's answer."""
    name, *arguments = call
    changed = dict(files)
    uri = arguments[0]
    if name == "list":
        children = {path.removeprefix(f"{uri}/").split("/")[0] for path in files if path.startswith(f"{uri}/")}
        paths = {child: files.get(f"{uri}/{child}") for child in sorted(children)}
        return files, tuple(Entry(child, found is None, len(found or ""), 0.0) for child, found in paths.items())
    if name == "exists":
        return files, is_there(files, uri)
    if name == "make_folder":
        changed[uri] = None
    elif name == "delete":
        changed = {path: found for path, found in files.items() if not is_below(path, uri)}
    elif name == "write_bytes":
        changed[uri] = arguments[1]
    elif name == "compute_digest":
        return files, files.get(uri) or MISSING
    elif name == "exchange" and not setting.exchanges:
        return files, False
    else:
        target = arguments[1]
        if not is_there(files, uri) or not is_there(files, target.rsplit("/", 1)[0]):
            return files, MISSING
        if name == "move" and is_there(files, target):
            return files, IN_THE_WAY
        if name == "exchange" and not is_there(files, target):
            return files, MISSING
        changed = {path: found for path, found in files.items() if not is_below(path, uri, target)}
        changed |= {target + path.removeprefix(uri): found for path, found in files.items() if is_below(path, uri)}
        if name == "exchange":
            changed |= {
                uri + path.removeprefix(target): found for path, found in files.items() if is_below(path, target)
            }
            return changed, True
    return changed, None


def is_below(path: str, *folders: str) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


def is_there(files: Files, uri: str) -> bool:
    return uri in files or any(path.startswith(f"{uri}/") for path in files)


def look(files: Files) -> frozenset[str]:
    """What a reader of the table finds."""
    return frozenset(
        str(found)
        for path, found in files.items()
        if path.startswith(f"{TABLE}/") and found is not None and "/." not in path.removeprefix(TABLE)
    )


def explore(setting: Setting, writers: int, crashes: int, losses: int, switches: int | None = None) -> tuple[int, int]:
    old = {f"{PERIOD}/old-{index}.parquet": f"o{index}" for index in range(setting.files)}
    start = World(
        {"file:///lake": None, TABLE: None, **old},
        tuple(run_attempt(setting, number, ()) for number in range(writers)),
        crashes,
        losses,
        switches,
    )
    allowed = {frozenset(old.values())}
    allowed |= {frozenset(list_content(setting, number).values()) for number in range(writers)}
    seen: set[tuple[Any, ...]] = set()
    waiting, ends = [start], 0
    while waiting:
        world = waiting.pop()
        key = world.key()
        if key in seen:
            continue
        seen.add(key)
        seen_now = look(world.files)
        # Between two renames there are no rows where folders cannot change places; never a mixture.
        assert seen_now in allowed or (not setting.exchanges and not seen_now), (seen_now, world)
        following = list(list_steps(setting, world))
        waiting.extend(following)
        if not following:
            ends += 1
            check_end(setting, world, allowed)
    return len(seen), ends


def list_steps(setting: Setting, before: World) -> Iterator[World]:
    for number, world in before.list_turns():
        writer = world.writers[number]
        if world.crashes:
            yield change(world, number, Writer((), "crashed", writer.claimed), crashes=1)
        assert writer.step is not None
        files, said = answer(world.files, setting, writer.step)
        check_step(setting, world, number, files)
        yield change(world, number, run_attempt(setting, number, (*writer.log, said)), files)
        if world.losses and writer.step[0] in {"move", "exchange"} and not isinstance(said, OSError):
            unsure = run_attempt(setting, number, (*writer.log, LOST))
            yield change(world, number, unsure, files, losses=1)


def change(
    world: World, number: int, writer: Writer, files: Files | None = None, *, crashes: int = 0, losses: int = 0
) -> World:
    """Return the world after a step of one writer, with so many more crashes and lost answers."""
    writers = (*world.writers[:number], writer, *world.writers[number + 1 :])
    files = world.files if files is None else files
    return World(files, writers, world.crashes - crashes, world.losses - losses, world.switches, world.last)


def check_step(setting: Setting, world: World, number: int, files: Files) -> None:
    """No attempt changes what readers see to its own rows once a newer one has claimed the table."""
    step = world.writers[number].step
    assert step is not None
    before, after = look(world.files), look(files)
    was_seen_before = step[0] == "move" and "/aside/" in step[1]
    if before != after and not was_seen_before and after == frozenset(list_content(setting, number).values()):
        newer = [other for other in world.writers[number + 1 :] if other.claimed]
        assert not newer, (number, world)


def check_end(setting: Setting, world: World, allowed: set[frozenset[str]]) -> None:
    """The newest attempt that published is what is seen; and what is lost from sight comes back with the next claim."""
    newest = world.writers[-1]
    # Where folders cannot change places, an old attempt that wakes up and dies between two renames hides the period.
    may_be_hidden = not setting.exchanges and any(writer.state == "crashed" for writer in world.writers)
    if newest.state == "published" and not may_be_hidden:
        assert look(world.files) == frozenset(list_content(setting, len(world.writers) - 1).values()), world
    files: Files = world.files
    log: tuple[Any, ...] = ()
    while (call := run_claim(setting, len(world.writers), log)) is not None:
        files, said = answer(files, setting, call)
        log = (*log, said)
    assert look(files) in allowed, (look(files), world)


@cache
def run_claim(setting: Setting, number: int, log: tuple[Any, ...]) -> tuple[str, ...] | None:
    ModelStorage.log, ModelStorage.position = log, 0
    CURRENT.number = number
    mode = "overwrite" if setting.overwrite else "replace_period"
    publication = Publication(None, make_snapshot([make_output(TABLE, write_mode=mode)]), number + 1)  # type: ignore[arg-type]
    try:
        publication.begin()
    except NextStep as found:
        return found.call
    return None


@pytest.fixture(autouse=True)
def _model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_output, "open_storage", lambda uri, spark: ModelStorage())
    # It only looks, before the claim, and in threads.
    monkeypatch.setattr(file_output, "find_table_folder", lambda storage, folders: None)
    monkeypatch.setattr(attempts.secrets, "token_hex", CURRENT.token_hex)
    monkeypatch.setattr(attempts.time, "time", lambda: 1_000.0)
    assert publish_module.Publication is Publication


SETTINGS = [
    Setting(files, exchanges, overwrite)
    for files in (1, 2)
    for exchanges in (True, False)
    for overwrite in (False, True)
]


@pytest.mark.chaos
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_two_attempts_in_every_order_with_a_crash_and_a_lost_answer(setting: Setting) -> None:
    states, ends = explore(setting, 2, 1, 1)
    assert states > 500
    assert ends > 50


@pytest.mark.parametrize("setting", [Setting(1, True, False), Setting(1, False, False)], ids=str)
def test_two_attempts_that_interrupt_each_other_twice_with_a_crash_and_a_lost_answer(setting: Setting) -> None:
    """The short form of the test above."""
    states, ends = explore(setting, 2, 1, 1, switches=2)
    assert states > 500
    assert ends > 50


@pytest.mark.chaos
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_three_attempts_that_interrupt_each_other_with_two_crashes_and_a_lost_answer(setting: Setting) -> None:
    """In every order in which attempts are interrupted up to twice; one after the other does not count."""
    states, _ = explore(setting, 3, 2, 1, switches=2)
    assert states > 10_000


def test_three_attempts_of_which_one_interrupts_another_with_a_crash() -> None:
    """The short form of the test above."""
    states, _ = explore(Setting(1, True, False), 3, 1, 0, switches=1)
    assert states > 2_000
