"""What the history of an Iceberg table says: who committed, and which rows a commit was about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from pyiceberg.expressions import AlwaysTrue, BooleanExpression, In
from pyiceberg.expressions.visitors import _InclusiveMetricsEvaluator, _StrictMetricsEvaluator
from pyiceberg.manifest import DataFile, DataFileContent, ManifestEntryStatus
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Snapshot, ancestors_of
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import StringType

from airflow_provider_runtime.core.tables.committing import PERIOD_COLUMN, Change
from airflow_provider_runtime.core.tables.notes import CommitNote, find_note


def has_period(schema: Schema) -> bool:
    """Return whether a table has the column by which periods are replaced."""
    return any(column.name == PERIOD_COLUMN and isinstance(column.field_type, StringType) for column in schema.fields)


def make_period_filter(schema: Schema, periods: tuple[str, ...]) -> BooleanExpression:
    """Return the condition for rows of these periods; none: all rows."""
    return In(PERIOD_COLUMN, periods) if periods and has_period(schema) else AlwaysTrue()


@dataclass(frozen=True)
class PeriodFiles:
    """Which files hold rows of some periods (none: any rows): all of their rows, or possibly some."""

    schema: Schema
    specs: Mapping[int, PartitionSpec]
    periods: tuple[str, ...]

    def holds_only(self, file: DataFile, spec_id: int) -> bool:
        """Return whether all rows of a file certainly belong to these periods."""
        if not self.periods:
            return True
        position = self._find_position(spec_id)
        if position is not None:
            return file.partition[position] in self.periods
        return bool(_StrictMetricsEvaluator(self.schema, make_period_filter(self.schema, self.periods)).eval(file))

    def may_hold(self, file: DataFile, spec_id: int) -> bool:
        """Return whether a file may have rows of these periods."""
        if not self.periods or not has_period(self.schema):
            return True
        position = self._find_position(spec_id)
        if position is not None:
            return file.partition[position] in self.periods
        if file.content != DataFileContent.DATA:
            return True
        return bool(_InclusiveMetricsEvaluator(self.schema, make_period_filter(self.schema, self.periods)).eval(file))

    def _find_position(self, spec_id: int) -> int | None:
        """Return where a file's partition holds the period itself."""
        spec = self.specs.get(spec_id)
        for position, part in enumerate(spec.fields if spec else ()):
            is_identity = isinstance(part.transform, IdentityTransform)
            if is_identity and self.schema.find_column_name(part.source_id) == PERIOD_COLUMN:
                return position
        return None


@dataclass(frozen=True)
class IcebergHead:
    """A table as it is at one snapshot; no table, when there is none."""

    table: Table | None

    @property
    def version(self) -> str | None:
        """Id of the current snapshot."""
        snapshot = self.table.current_snapshot() if self.table is not None else None
        return str(snapshot.snapshot_id) if snapshot is not None else None

    @property
    def table_id(self) -> str | None:
        """The table's UUID."""
        return str(self.table.metadata.table_uuid) if self.table is not None else None

    @property
    def settings(self) -> dict[str, str]:
        """The table's properties."""
        return dict(self.table.properties) if self.table is not None else {}

    def find_newest_token(self, note: CommitNote) -> int:
        """Return the largest token of a run's commits, those that were rolled back included."""
        snapshots = self.table.metadata.snapshots if self.table is not None else []
        notes = [_read_note(snapshot) for snapshot in snapshots]
        return max((known.token for known in notes if known and known.run_key == note.run_key), default=0)

    def list_changes(self) -> list[Change]:
        """Return the snapshots that led to the current one and changed rows, the newest first."""
        return [self._make_change(snapshot) for snapshot in self._ancestors if _changes_rows(snapshot)]

    def find_changes_since(self, base: str | None) -> list[Change] | None:
        """Return the snapshots after one that changed rows."""
        later: list[Change] = []
        for snapshot in self._ancestors:
            if str(snapshot.snapshot_id) == base:
                return later
            if _changes_rows(snapshot):
                later.append(self._make_change(snapshot))
        return later if base is None else None

    def replaces_rows(self, change: Change, periods: tuple[str, ...]) -> bool:
        """Return whether a snapshot added or removed files with rows of these periods."""
        assert self.table is not None
        snapshot = self.table.snapshot_by_id(int(change.version))
        if snapshot is None or not periods:
            return True
        files = PeriodFiles(self.table.schema(), self.table.specs(), periods)
        for manifest in snapshot.manifests(self.table.io):
            if manifest.added_snapshot_id != snapshot.snapshot_id:
                continue
            for entry in manifest.fetch_manifest_entry(self.table.io, discard_deleted=False):
                is_new = entry.status != ManifestEntryStatus.EXISTING and entry.snapshot_id == snapshot.snapshot_id
                if is_new and files.may_hold(entry.data_file, manifest.partition_spec_id):
                    return True
        return False

    @cached_property
    def _ancestors(self) -> list[Snapshot]:
        if self.table is None:
            return []
        return list(ancestors_of(self.table.current_snapshot(), self.table.metadata))

    @staticmethod
    def _make_change(snapshot: Snapshot) -> Change:
        return Change(str(snapshot.snapshot_id), _read_note(snapshot))


def _changes_rows(snapshot: Snapshot) -> bool:
    """Return whether rows may have changed: rewritten files hold the same rows."""
    return snapshot.summary is None or snapshot.summary.operation != Operation.REPLACE


def _read_note(snapshot: Snapshot) -> CommitNote | None:
    if snapshot.summary is None:
        return None
    # Whoever rewrites files may carry a summary's properties over.
    return find_note(snapshot.summary.additional_properties) if _changes_rows(snapshot) else None
