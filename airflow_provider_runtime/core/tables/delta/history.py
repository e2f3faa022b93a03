"""What the log of a Delta table says: who committed, and which rows a commit was about."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

from deltalake import DeltaTable

from airflow_provider_runtime.core.tables.committing import PERIOD_COLUMN, Change
from airflow_provider_runtime.core.tables.delta.connection import read_actions
from airflow_provider_runtime.core.tables.notes import CommitNote, find_note
from airflow_provider_runtime.core.tables.ports import TableAddress

HISTORY_LENGTH = 1000


def make_application_id(note: CommitNote) -> str:
    """Return the name under which a table's transactions keep a run's newest token."""
    digest = hashlib.sha256(f"{note.project_id}\0{note.period}".encode()).hexdigest()[:32]
    return f"airflow-provider-runtime/{digest}"


@dataclass(frozen=True)
class DeltaHead:
    """A table as it is at one version; no table, when there is none."""

    table: DeltaTable | None
    address: TableAddress

    @property
    def version(self) -> str | None:
        """The version."""
        return str(self.table.version()) if self.table is not None else None

    @property
    def table_id(self) -> str | None:
        """The id in the table's metadata."""
        return str(self.table.metadata().id) if self.table is not None else None

    @property
    def settings(self) -> dict[str, str]:
        """The table's properties."""
        found = self.table.metadata().configuration if self.table is not None else {}
        return {name: value for name, value in found.items() if value is not None}

    def find_newest_token(self, note: CommitNote) -> int:
        """Return the largest token of a run's commits."""
        if self.table is None:
            return 0
        return self.table.transaction_version(make_application_id(note)) or 0

    def list_changes(self) -> list[Change]:
        """Return the latest commits, the newest first."""
        return self._changes

    def find_changes_since(self, base: str | None) -> list[Change] | None:
        """Return the commits after a version."""
        if self.table is None:
            return [] if base is None else None
        first = 0 if base is None else int(base) + 1
        wanted = self.table.version() - first + 1
        if wanted <= 0:
            return [] if wanted == 0 else None
        later = [change for change in self._list(wanted) if int(change.version) >= first]
        return later if len(later) == wanted else None

    def replaces_rows(self, change: Change, periods: tuple[str, ...]) -> bool:
        """Return whether a commit added or removed files with rows of these periods."""
        actions = read_actions(self.address, int(change.version))
        if actions is None:
            return True
        files = [action.get("add") or action.get("remove") or {} for action in actions]
        changed = [file for file in files if file.get("dataChange")]
        if not periods:
            return bool(changed)
        partitions = [file.get("partitionValues") or {} for file in changed]
        return any(values.get(PERIOD_COLUMN, periods[0]) in periods for values in partitions)

    @cached_property
    def _changes(self) -> list[Change]:
        return self._list(HISTORY_LENGTH)

    def _list(self, length: int) -> list[Change]:
        entries = self.table.history(length) if self.table is not None else []
        return [Change(str(entry["version"]), find_note(entry)) for entry in entries]
