"""How an output enters a table, whatever the format: compare tokens, find a lost answer, commit once, or not at all.

    read the table's head and what was committed since the base
    a newer attempt of the run has committed: RUN_002; this very publication is there: done
    somebody else has replaced these rows since the base: RUN_002
    commit on exactly that head; when the head has moved, or the answer is lost, begin again

A commit on a head that is no longer the head is refused by the format, so nothing can slip in between.
"""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from airflow_provider_runtime.core.errors import RuntimeProviderError
from airflow_provider_runtime.core.tables.notes import CommitNote
from airflow_provider_runtime.core.tables.ports import TableAddress, TableColumn, TableState
from spark_jobs.contract.codes import Code
from spark_jobs.contract.hidden_folder import LockMark
from spark_jobs.contract.replaced import explain_replaced

if TYPE_CHECKING:
    from airflow_provider_runtime.core.tables.folders import AttemptFolder

PERIOD_COLUMN = "_period"
LOCK_PREFIX = "airflow-provider-runtime."
COMMIT_TRIES = 30
LOST_ANSWERS = 3
FIRST_PAUSE_SECONDS = 0.05
LONGEST_PAUSE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class CommitRequest:
    """An attempt's files and the rows that they replace."""

    note: CommitNote
    columns: tuple[TableColumn, ...]
    """Columns of the files."""
    files: tuple[str, ...] = ()
    """Their paths below the attempt's folder."""
    location: str = ""
    """The folder below which the job has written, as the plan has it; the table's own if left out."""
    base: str | None = None
    """The version that the table had when the attempt began; None when it was not there."""
    table_id: str | None = None
    """The id of the table that had it."""
    has_base: bool = False
    """Whether `base` is known: else the version at which the commit first looks at the table counts."""
    is_shared: bool = False
    """Whether rows that another project has committed may be replaced."""
    locks: tuple[str, ...] = ()
    """Names of the locks of its period, and of the periods that contain it."""


@dataclass(frozen=True, slots=True)
class Committed:
    """The outcome of a commit."""

    version: str
    note: CommitNote
    repeated: bool = False
    """Whether an earlier try had committed these rows already, so that nothing was done."""


class HeadMovedError(Exception):
    """Somebody else has committed: this commit did not happen."""


class AnswerLostError(Exception):
    """The commit may or may not have happened."""


@dataclass(frozen=True, slots=True)
class Change:
    """A commit in a table's history."""

    version: str
    note: CommitNote | None


class Head(Protocol):
    """A table as it is at one version."""

    @property
    def version(self) -> str | None:
        """The version; None when the table does not exist or is empty."""

    @property
    def table_id(self) -> str | None:
        """The table's id, which changes when it is dropped and recreated; None when there is no table."""

    @property
    def settings(self) -> Mapping[str, str]:
        """The table's own properties."""

    def find_newest_token(self, note: CommitNote) -> int:
        """Return the largest token that the run of this note has committed with; 0 when there is none."""

    def list_changes(self) -> Sequence[Change]:
        """Return the commits that led here, the newest first, as far back as the table knows them."""

    def find_changes_since(self, base: str | None) -> Sequence[Change] | None:
        """Return the commits after a version, the newest first; None when the history does not reach that far."""

    def replaces_rows(self, change: Change, periods: tuple[str, ...]) -> bool:
        """Return whether a commit without a note added or removed rows of these periods (none: any rows)."""


HeadT = TypeVar("HeadT", bound=Head)


class Committer(Protocol[HeadT]):
    """What the two formats do differently."""

    address: TableAddress

    def read_head(self) -> HeadT:
        """Return the table as it is now."""

    def translate_errors(self) -> AbstractContextManager[None]:
        """Turn the library's failures into errors of this package."""

    def open_folder(self, request: CommitRequest) -> AttemptFolder:
        """Return an attempt's folder."""

    def commit_on(self, head: HeadT, request: CommitRequest) -> str:
        """Commit on this head and return the new version."""

    def set_property(self, head: HeadT, name: str, value: str) -> None:
        """Change a property of a table that is there."""


class _Commit(Generic[HeadT]):
    """One commit, with all its tries."""

    def __init__(self, committer: Committer[HeadT], request: CommitRequest) -> None:
        self._committer = committer
        self._request = request
        self._lost_answers = 0
        self.was_sent = False
        """Whether a commit may have happened."""

    def run(self) -> Committed:
        """Return the outcome."""
        for number in range(COMMIT_TRIES):
            _pause(number)
            with self._committer.translate_errors():
                committed = self._try_once()
            if committed is not None:
                return committed
            if self._lost_answers >= LOST_ANSWERS:
                break
        raise self._error("INFRA_001", "commits to it are overtaken by others, or not answered", "try again later")

    def _try_once(self) -> Committed | None:
        head = self._committer.read_head()
        if not self._request.has_base:
            self._request = replace(self._request, base=head.version, has_base=True)
        request = self._request
        refuse_newer(head, self._committer.address, request.note)
        if (found := _find_publication(head, request.note)) is not None:
            return found
        refuse_locked(head, self._committer.address, request.note.period, request.locks)
        if not request.is_shared:
            refuse_other_writers(head, self._committer.address, request.note)
        self._refuse_conflict(head, request)
        periods = _add_earlier_periods(head, request.note)
        ready = replace(request, note=replace(request.note, periods=periods))
        sent, self.was_sent = self.was_sent, True
        try:
            return Committed(self._committer.commit_on(head, ready), ready.note)
        except HeadMovedError:
            self.was_sent = sent
        except AnswerLostError:
            self._lost_answers += 1
        except RuntimeProviderError:
            self.was_sent = sent
            raise
        return None

    def _refuse_conflict(self, head: HeadT, request: CommitRequest) -> None:
        note = request.note
        changes = head.find_changes_since(request.base)
        hint = "run it again: it will begin with the table as it is now"
        if request.table_id is not None and head.table_id != request.table_id:
            message = "it is not the table at which the run began: that one was dropped since"
            raise self._error("RUN_002", message, hint)
        if changes is None:
            message = f"its history since version {request.base} is gone, which was current when the run began"
            raise self._error("RUN_002", message, hint)
        for change in changes:
            other = change.note
            if other is not None and other.run_key == note.run_key:
                continue
            if _replaces(head, change, note.periods):
                by = f"project {other.project_id} for period {other.period}" if other else "another writer"
                which = f"rows of period {', '.join(note.periods)}" if note.periods else "rows"
                message = f"{by} has replaced {which} in version {change.version} since this run began"
                raise self._error("RUN_002", message, hint)

    def _error(self, code: Code, message: str, hint: str | None = None) -> RuntimeProviderError:
        return self._committer.address.make_error(code, message, hint)


def commit_files(committer: Committer[HeadT], request: CommitRequest) -> Committed:
    """Commit once; after a commit by others to other rows it is tried again.

    What is not committed is removed, unless it is unknown whether it was committed.
    """
    with committer.translate_errors():
        folder = committer.open_folder(request)
        folder.claim()
    commit = _Commit(committer, request)
    try:
        committed = commit.run()
    except RuntimeProviderError as error:
        if not commit.was_sent:
            with contextlib.suppress(OSError):
                folder.unclaim() if error.retryable else folder.remove()
        raise
    with contextlib.suppress(OSError):
        if committed.note.folder != request.note.folder:
            folder.remove()
        folder.remove_older()
    return committed


def _pause(number: int) -> None:
    """Wait before another try, a while longer each time."""
    if number:
        pause = min(FIRST_PAUSE_SECONDS * 1.5**number, LONGEST_PAUSE_SECONDS)
        time.sleep(pause * random.uniform(0.5, 1))


class CommittedTable(Committer[HeadT]):
    """What tables of all formats have in common."""

    def __init__(self, address: TableAddress) -> None:
        self.address = address

    def find_state(self) -> TableState:
        """Return the current version and the table's id."""
        with self.translate_errors():
            head = self.read_head()
            return TableState(head.version, head.table_id)

    def check_rows(self, note: CommitNote, locks: tuple[str, ...] = (), *, is_shared: bool = False) -> None:
        """Raise PERIOD_002 for rows of a locked period, OUTPUT_002 for those of another project unless they share."""
        with self.translate_errors():
            head = self.read_head()
            refuse_newer(head, self.address, note)
            refuse_locked(head, self.address, note.period, locks)
            if not is_shared:
                refuse_other_writers(head, self.address, note)

    def find_newest_token(self, note: CommitNote) -> int:
        """Return the largest token that the run of this note has committed with; 0 when there is none."""
        with self.translate_errors():
            return self.read_head().find_newest_token(note)

    def leave_lock(self, lock: str, mark: LockMark) -> bool:
        """Keep the mark of a lock among the table's properties."""
        for number in range(COMMIT_TRIES):
            _pause(number)
            with self.translate_errors(), contextlib.suppress(HeadMovedError):
                head = self.read_head()
                if head.table_id is None:
                    return False
                self.set_property(head, LOCK_PREFIX + lock, mark.encode().decode())
                return True
        return False

    def commit(self, request: CommitRequest) -> Committed:
        """Replace rows in one version."""
        return commit_files(self, request)


def refuse_newer(head: Head, address: TableAddress, note: CommitNote) -> None:
    """Raise RUN_002 when a newer attempt of the run has committed."""
    newest = head.find_newest_token(note)
    if newest > note.token:
        raise address.make_error("RUN_002", *explain_replaced(note.token, newest))


def refuse_locked(head: Head, address: TableAddress, period: str, locks: Iterable[str]) -> None:
    """Raise PERIOD_002 when a lock has left its mark for a period, or for one that contains it."""
    settings = head.settings
    for lock in locks:
        if LOCK_PREFIX + lock in settings:
            mark, locked = LockMark.decode(settings[LOCK_PREFIX + lock].encode()), lock.rpartition("/")[2]
            inside = "" if locked == period else f" is part of {locked}, which"
            message = f"period {period}{inside} was locked by {mark.who}: {mark.reason}"
            hint = f"the lock left its mark with the table{f' on {mark.at}' if mark.at else ''}: it is final"
            raise address.make_error("PERIOD_002", message, hint)


def refuse_other_writers(head: Head, address: TableAddress, note: CommitNote) -> None:
    """Raise OUTPUT_002 when rows that would be replaced are those of another project."""
    own: set[str] = set()
    for change in head.list_changes():
        other = change.note
        if other is None:
            continue
        if other.project_id == note.project_id:
            own.update(other.periods)
            if other.replaces_all or (note.periods and own.issuperset(note.periods)):
                return
        elif other.touches(tuple(set(note.periods) - own)):
            what = "its rows were" if note.replaces_all or other.replaces_all else f"period {note.period} of it was"
            message = f"{what} written by project '{other.project_id}'"
            hint = "write to another table, or say `shared: true` on the destination of both"
            raise address.make_error("OUTPUT_002", message, hint)


def _find_publication(head: Head, note: CommitNote) -> Committed | None:
    """Return the commit of these very files, or of the same rows when nobody has replaced them since."""
    if not head.find_newest_token(note):
        return None
    later: list[Change] = []
    for change in head.list_changes():
        other = change.note
        if other is None or other.run_key != note.run_key:
            later.append(change)
            continue
        if not note.is_same_publication(other):
            return None
        # The very same files are never committed twice, whatever others have done since.
        is_there = note.folder == other.folder or not any(_replaces(head, newer, other.periods) for newer in later)
        return Committed(change.version, other, repeated=True) if is_there else None
    return None


def _replaces(head: Head, change: Change, periods: tuple[str, ...]) -> bool:
    """Return whether a commit has replaced rows of these periods (none: any rows)."""
    return change.note.touches(periods) if change.note else head.replaces_rows(change, periods)


def _add_earlier_periods(head: Head, note: CommitNote) -> tuple[str, ...]:
    """Return the periods to replace: also those of the run's last commit, unless others replaced them since.

    A month that is read from days writes rows of days; a day that it no longer reads must not stay.
    """
    if note.replaces_all or not head.find_newest_token(note):
        return note.periods
    taken: set[str] = set()
    for change in head.list_changes():
        other = change.note
        if other is None:
            continue
        if other.run_key == note.run_key:
            earlier = () if other.replaces_all else other.periods
            return tuple(sorted({*note.periods, *(period for period in earlier if period not in taken)}))
        taken.update(other.periods)
    return note.periods
