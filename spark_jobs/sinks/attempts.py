"""The fence on files: attempts stage side by side at the destination, and only the newest may publish.

    <parent>/.<table>.runtime/staging/<run>/<token>-<nonce>/claimed/   an attempt, and ...
    <parent>/.<table>.runtime/staging/<run>/<token>-<nonce>/<seq>/     ... what it has staged
    <parent>/.<table>.runtime/staging/<run>/<token>-<nonce>/keep-<t>/  ... until when that waits for a decision
    <parent>/.<table>.runtime/staging/<run>/<token>-<nonce>/ended/     ... an attempt that has ended
    <parent>/.<table>.runtime/fences/<run>/<token>/                    the newest attempt of a run that was swept
    <parent>/.<table>.runtime/retired/<millis>-<nonce>/                what was replaced, kept a while for its readers
    <parent>/.<table>.runtime/aside/<run or table>/<number>-<nonce>/   what is replaced where that takes two renames

An attempt makes its folder, then renames away the folders of older attempts. Publishing looks for newer folders first
and then renames out of its own folder. Whichever of two attempts comes second sees the other: either the older one
finds the newer folder, or the newer one has renamed the older one's staged files away and the older rename fails.
"""

from __future__ import annotations

import contextlib
import hashlib
import secrets
import time
from dataclasses import dataclass, field

from spark_jobs.contract.hidden_folder import LockMark, get_hidden_folder, get_lock_uri, name_writer
from spark_jobs.contract.replaced import explain_replaced, is_blamed_on_clock
from spark_jobs.errors import JobError
from spark_jobs.spark.storage import Entry, Storage, join_uri, split_uri

RETIRED_SECONDS = 3600.0
ABANDONED_SECONDS = 7 * 86400.0
RETIRED_SUFFIX = ".retired"
KEEP = "keep-"
ENDED = "ended"
MOST_MARK_BYTES = 10_000


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try to execute a snapshot for a project and a period; a larger token is a newer try."""

    token: int
    project_id: str
    period: str
    digest: str
    nonce: str = field(default_factory=lambda: secrets.token_hex(4))
    project_name: str = ""
    calendar: str = "gregorian"
    enclosing_periods: tuple[str, ...] = ()
    """The coarser periods that the period belongs to."""

    @property
    def name(self) -> str:
        """Name of this attempt's folders."""
        return f"{self.token:020d}-{self.nonce}"

    @property
    def run_key(self) -> str:
        """What attempts of the same project and period have in common."""
        return hashlib.sha256(f"{self.project_id}\0{self.period}".encode()).hexdigest()[:16]


def make_locked_error(attempt: Attempt, period: str, mark: LockMark) -> JobError:
    """Return the error of an attempt whose period, or one around it, has the mark of a lock at a destination."""
    inside = "" if period == attempt.period else f" is part of {period}, which"
    message = f"period {attempt.period}{inside} was locked by {mark.who}: {mark.reason}"
    hint = f"the lock left its mark at the destination{f' on {mark.at}' if mark.at else ''}: it is final"
    return JobError("PERIOD_002", message, hint=hint)


def make_replaced_error(token: int, newer: int | None = None, *, has_ended: bool = False) -> JobError:
    """Return the error of an attempt that a newer one has taken the place of."""
    message, hint = explain_replaced(token, newer, has_ended=has_ended)
    blamed = newer if is_blamed_on_clock(newer, has_ended=has_ended) else None
    return JobError("RUN_002", message, hint=hint, newest_token=blamed)


class StagingArea:
    """What attempts keep beside one table."""

    def __init__(self, storage: Storage, table_uri: str, attempt: Attempt) -> None:
        hidden = get_hidden_folder(table_uri)
        self._storage = storage
        self._table = table_uri
        self._attempt = attempt
        self._attempts = join_uri(hidden, "staging", attempt.run_key)
        self._retired = join_uri(hidden, "retired")
        self._staging = join_uri(hidden, "staging")
        self._fences = join_uri(hidden, "fences")
        self._aside = join_uri(hidden, "aside")
        self._writers = join_uri(hidden, "writers")
        self._own_aside = ""
        self.folder = join_uri(self._attempts, attempt.name)
        self._mark = join_uri(self.folder, "claimed")

    def claim(self) -> None:
        """Become the newest attempt here, and make what older attempts have staged useless to them."""
        self._storage.make_folder(self._mark)
        others = self.check()
        # A sweep makes the fence before it removes the attempts, so that one of the two is found.
        self._refuse_if_newer(self._storage.list(join_uri(self._fences, self._attempt.run_key)))
        for other in others:
            aside = join_uri(self._retired, _name_retired())
            self._storage.make_folder(self._retired)
            try:
                self._storage.move(join_uri(self._attempts, other.name), aside)
            except FileNotFoundError:
                continue
            self._storage.delete(aside)

    def check(self) -> list[Entry]:
        """Return the older attempts; RUN_002 when a newer one is known here, or has taken the staged files away."""
        others = self._list_others()
        self._refuse_if_newer(others)
        if not self._storage.exists(self._mark):
            raise make_replaced_error(self._attempt.token)
        return others

    def _refuse_if_newer(self, others: list[Entry]) -> None:
        newest = max(others, key=_read_token, default=None)
        if newest is None or _read_token(newest) <= self._attempt.token:
            return
        self.release()
        has_ended = self._storage.exists(join_uri(self._attempts, newest.name, ENDED))
        raise make_replaced_error(self._attempt.token, _read_token(newest), has_ended=has_ended)

    def check_period(self) -> None:
        """Raise PERIOD_002 when a lock has left its mark here, whichever registry it was."""
        attempt = self._attempt
        folder = split_uri(get_lock_uri(self._table, attempt.calendar, attempt.period))[0]
        locked = {entry.name for entry in self._storage.list(folder)}
        for period in (attempt.period, *attempt.enclosing_periods):
            if period in locked:
                mark = LockMark.decode(self._storage.read_bytes(join_uri(folder, period), MOST_MARK_BYTES))
                raise make_locked_error(attempt, period, mark)

    def check_writers(self, *, overwrites: bool) -> None:
        """Raise OUTPUT_002 when another project has written what would be replaced."""
        period = self._attempt.period
        for entry in self._storage.list(self._writers):
            project, _, written = entry.name.partition("~")
            if project == self._attempt.project_id or not (overwrites or written in {period, ""}):
                continue
            name = self._storage.read_bytes(join_uri(self._writers, entry.name), MOST_MARK_BYTES).decode(
                "utf-8", "replace"
            )
            what = f"period {period}" if written == period else "other periods" if written else "the whole table"
            message = f"{what} of this table was written by project '{name or project}'"
            hint = "write to another table, or say `shared: true` on the destination of both"
            raise JobError("OUTPUT_002", message, hint=hint)

    def note_writer(self, *, overwrites: bool, is_shared: bool) -> None:
        """Note that this project writes the period; of two projects that do so at once, neither goes on."""
        name = name_writer(self._attempt.project_id, "" if overwrites else self._attempt.period)
        is_new = not self._storage.exists(join_uri(self._writers, name))
        if is_new:
            self._storage.write_bytes(join_uri(self._writers, name), self._attempt.project_name.encode())
        if is_shared:
            return
        try:
            self.check_writers(overwrites=overwrites)
        except JobError:
            if is_new:
                self._storage.delete(join_uri(self._writers, name))
            raise

    def keep(self, until_millis: int) -> None:
        """Keep what is staged here from being swept until then."""
        self._storage.make_folder(join_uri(self.folder, f"{KEEP}{until_millis}"))

    def put_aside(self, uri: str) -> str:
        """Move what is about to be replaced out of sight, to where `recover` looks for it; return its address there."""
        folder = self._find_aside(uri)
        number = max((_read_token(entry) for entry in self._storage.list(folder)), default=0) + 1
        self._own_aside = join_uri(folder, f"{number:06d}-{secrets.token_hex(4)}")
        self._storage.make_folder(folder)
        self._storage.move(uri, self._own_aside)
        return self._own_aside

    def recover(self, uri: str) -> bool:
        """Put back what an attempt has put aside and not replaced; what has been replaced is retired.

        Return whether there was anything. An older attempt may do the same, or may only now find out that it is over:
        the one that comes second finds nothing.
        """
        folder = self._find_aside(uri)
        found = self._list_uris(folder)
        if not found:
            return False
        if self._storage.exists(uri):
            for aside in found:
                with contextlib.suppress(FileNotFoundError):
                    self.retire(aside)
        elif left := self._list_uris(folder):
            # Looked for again: what was there last may be aside only now. What an attempt has moved itself was last.
            latest = self._own_aside if self._own_aside in left else left[-1]
            with contextlib.suppress(FileNotFoundError, FileExistsError):
                self._storage.move(latest, uri)
        return True

    def _list_uris(self, folder: str) -> list[str]:
        return [join_uri(folder, entry.name) for entry in self._storage.list(folder)]

    def _find_aside(self, uri: str) -> str:
        """A period is put back by the runs of that period, the whole table by every run."""
        return join_uri(self._aside, "table" if uri == self._table else self._attempt.run_key)

    def retire(self, uri: str) -> None:
        """Keep what was replaced for those who still read it, out of sight of those who look for data."""
        self._storage.make_folder(self._retired)
        aside = join_uri(self._retired, _name_retired())
        self._storage.move(uri, aside)
        self._hide_files(aside)

    def sweep(self) -> None:
        """Remove what was retired or abandoned long ago; of an abandoned run its newest token stays as a fence."""
        for entry in self._storage.list(self._retired):
            if _get_retired_age(entry) > RETIRED_SECONDS:
                self._storage.delete(join_uri(self._retired, entry.name))
        for run in self._storage.list(self._staging):
            if run.age_seconds > ABANDONED_SECONDS and run.name != self._attempt.run_key:
                attempts = self._storage.list(join_uri(self._staging, run.name))
                if any(self._is_kept(join_uri(self._staging, run.name, entry.name)) for entry in attempts):
                    continue
                newest = max(map(_read_token, attempts), default=0)
                self._storage.make_folder(join_uri(self._fences, run.name, f"{newest:020d}"))
                self._storage.delete(join_uri(self._staging, run.name))

    def empty(self) -> None:
        """Remove what this attempt has staged; its mark stays as the fence against older ones."""
        found = [join_uri(self.folder, entry.name) for entry in self._storage.list(self.folder)]
        for uri in found:
            if uri != self._mark:
                self._storage.delete(uri)
        if self._mark in found:
            self._storage.make_folder(join_uri(self.folder, ENDED))

    def _is_kept(self, attempt_uri: str) -> bool:
        kept = [
            entry.name.removeprefix(KEEP) for entry in self._storage.list(attempt_uri) if entry.name.startswith(KEEP)
        ]
        return any(millis.isdigit() and int(millis) > time.time() * 1000 for millis in kept)

    def release(self) -> None:
        """Remove this attempt's folder."""
        self._storage.delete(self.folder)

    def _list_others(self) -> list[Entry]:
        return [entry for entry in self._storage.list(self._attempts) if entry.name != self._attempt.name]

    def _hide_files(self, folder: str) -> None:
        if self._storage.is_link(folder):
            return
        for entry in self._storage.list(folder):
            uri = join_uri(folder, entry.name)
            if entry.is_folder:
                self._hide_files(uri)
            else:
                self._storage.move(uri, uri + RETIRED_SUFFIX)


def _name_retired() -> str:
    return f"{int(time.time() * 1000)}-{secrets.token_hex(4)}"


def _get_retired_age(entry: Entry) -> float:
    millis = entry.name.split("-", 1)[0]
    return time.time() - int(millis) / 1000 if millis.isdigit() else entry.age_seconds


def _read_token(entry: Entry) -> int:
    token = entry.name.split("-", 1)[0]
    return int(token) if token.isdigit() else 0
