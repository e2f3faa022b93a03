"""A Delta table."""

from __future__ import annotations

from contextlib import AbstractContextManager

from deltalake.exceptions import CommitFailedError, DeltaError

from airflow_provider_runtime.core.tables.committing import (
    AnswerLostError,
    CommitRequest,
    CommittedTable,
    HeadMovedError,
)
from airflow_provider_runtime.core.tables.delta import connection, pinning, writing
from airflow_provider_runtime.core.tables.delta.history import DeltaHead
from airflow_provider_runtime.core.tables.folders import AttemptFolder
from airflow_provider_runtime.core.tables.ports import PinnedTable, RowFilter, TableColumn


class DeltaLakeTable(CommittedTable[DeltaHead]):
    """A folder with a Delta log."""

    def translate_errors(self) -> AbstractContextManager[None]:
        """Turn the library's failures into errors of this package."""
        return connection.translate_errors(self.address)

    def find_pin(self, version: str | None = None, rows: RowFilter | None = None) -> PinnedTable | None:
        """Return the files of a version."""
        with self.translate_errors():
            table = connection.find_table(self.address)
            if table is None:
                return None
            if version is not None and version != str(table.version()):
                try:
                    table.load_as_version(int(version))
                except (DeltaError, ValueError) as error:
                    message = f"version {version} has expired: the table's log no longer holds it"
                    hint = "resolve again to read the current version, and keep versions as long as their runs matter"
                    raise self.address.make_error("DATA_001", message, hint) from error
            return pinning.pin(table, self.address, rows)

    def find_location(self) -> str:
        """Return the table's folder."""
        return self.address.name

    def check_output(self, columns: tuple[TableColumn, ...], *, by_period: bool) -> None:
        """Raise OUTPUT_002 for columns that do not fit."""
        with self.translate_errors():
            table = connection.find_table(self.address)
            if table is not None:
                writing.merge_schema(table, self.address, columns, by_period=by_period)
            else:
                self._refuse_files()

    def _refuse_files(self) -> None:
        """Raise OUTPUT_002 for a folder of plain files: who reads these would find the table's among them."""
        names = connection.list_names(self.address)
        found = next((name for name in names if "=" in name or name.endswith(".parquet")), None)
        if found is not None:
            message = f"its folder holds files already, such as {found}, and is no Delta table"
            raise self.address.make_error("OUTPUT_002", message, "name another folder, or convert this one to Delta")

    def open_folder(self, request: CommitRequest) -> AttemptFolder:
        """Return an attempt's folder."""
        return AttemptFolder(connection.open_files(self.address), "", request.note.folder)

    def read_head(self) -> DeltaHead:
        """Return the table as it is now."""
        return DeltaHead(connection.find_table(self.address), self.address)

    def commit_on(self, head: DeltaHead, request: CommitRequest) -> str:
        """Commit the version after the head's."""
        files = connection.open_files(self.address)
        if head.table is not None:
            version = head.table.version() + 1
            try:
                writing.replace_rows(head.table, self.address, request, files)
            except CommitFailedError as error:
                raise HeadMovedError from error
            except DeltaError as error:
                raise AnswerLostError from error
            return str(version)
        try:
            writing.create_table(self.address, request, files)
        except DeltaError as error:
            raise AnswerLostError from error
        return "0"

    def set_property(self, head: DeltaHead, name: str, value: str) -> None:
        """Commit a version that changes nothing else."""
        assert head.table is not None
        try:
            head.table.alter.set_table_properties({name: value}, raise_if_not_exists=False)
        except CommitFailedError as error:
            raise HeadMovedError from error
