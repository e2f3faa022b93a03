"""An Iceberg table."""

from __future__ import annotations

import weakref
from contextlib import AbstractContextManager
from functools import cached_property

from pyiceberg import exceptions
from pyiceberg.catalog import Catalog
from pyiceberg.schema import Schema
from pyiceberg.table import Table, TableProperties, Transaction

from airflow_provider_runtime.core.tables.addresses import to_job_uri
from airflow_provider_runtime.core.tables.committing import (
    AnswerLostError,
    CommitRequest,
    CommittedTable,
    HeadMovedError,
)
from airflow_provider_runtime.core.tables.folders import AttemptFolder
from airflow_provider_runtime.core.tables.iceberg import connection, pinning, writing
from airflow_provider_runtime.core.tables.iceberg.history import IcebergHead
from airflow_provider_runtime.core.tables.notes import CommitNote
from airflow_provider_runtime.core.tables.ports import PinnedTable, RowFilter, TableColumn
from spark_jobs.contract.addresses import has_scheme

_MOVED = (
    exceptions.CommitFailedException,
    exceptions.ValidationException,
    exceptions.TableAlreadyExistsError,
    exceptions.NoSuchTableError,
)


class IcebergTable(CommittedTable[IcebergHead]):
    """A table of an Iceberg catalog."""

    def translate_errors(self) -> AbstractContextManager[None]:
        """Turn the library's failures into errors of this package."""
        return connection.translate_errors(self.address)

    def find_pin(self, version: str | None = None, rows: RowFilter | None = None) -> PinnedTable | None:
        """Return the files of a snapshot."""
        with self.translate_errors():
            table = self._find_table()
            return pinning.pin(table, self.address, version, rows) if table is not None else None

    def find_location(self) -> str:
        """Return the folder of data files; that of a table that is missing is where its catalog would make it."""
        with self.translate_errors():
            return self._locate(self._find_table())

    def check_output(self, columns: tuple[TableColumn, ...], *, by_period: bool) -> None:
        """Raise OUTPUT_002 for columns that do not fit."""
        with self.translate_errors():
            table = self._find_table()
            if table is not None:
                writing.check_columns(table, self.address, columns, by_period=by_period)

    def check_rows(self, note: CommitNote, locks: tuple[str, ...] = (), *, is_shared: bool = False) -> None:
        """Raise as tables of all formats do, and OUTPUT_002 for files that hold rows of other periods too."""
        super().check_rows(note, locks, is_shared=is_shared)
        with self.translate_errors():
            table = self._find_table() if note.periods else None
            if table is not None:
                writing.list_removed(table, self.address, note.periods)

    def open_folder(self, request: CommitRequest) -> AttemptFolder:
        """Return an attempt's folder."""
        with self.translate_errors():
            table = self._find_table()
            location = self._choose_location(table, request)
            io = table.io if table is not None else self._catalog._load_file_io(location=location)
            return connection.open_folder(io, location, request.note.folder)

    def read_head(self) -> IcebergHead:
        """Return the table as it is now."""
        return IcebergHead(self._find_table())

    def commit_on(self, head: IcebergHead, request: CommitRequest) -> str:
        """Commit on the head's snapshot."""
        location = self._choose_location(head.table, request)
        if head.table is None:
            new = location.removesuffix("/data")
            transaction = writing.begin_creation(self._catalog, self.address, request, new)
        else:
            transaction = writing.begin_change(head.table, self.address, request)
        table = head.table or transaction._table
        folder = f"{location}/{request.note.folder}"
        writing.replace_rows(transaction, table, self.address, request, folder)
        return self._send(transaction)

    def set_property(self, head: IcebergHead, name: str, value: str) -> None:
        """Change the table's metadata; its snapshot stays."""
        assert head.table is not None
        try:
            head.table.transaction().set_properties(**{name: value}).commit_transaction()
        except _MOVED as error:
            raise HeadMovedError from error

    def _send(self, transaction: Transaction) -> str:
        try:
            snapshot = transaction.commit_transaction().current_snapshot()
        except _MOVED as error:
            raise HeadMovedError from error
        except connection.REFUSED as error:
            raise connection.explain_refusal(self.address) from error
        except exceptions.BadRequestError as error:
            hint = "see the catalog's log: it may not know what pyiceberg asks for"
            raise self.address.make_error(
                "OUTPUT_003", "the catalog refuses the commit as a bad request", hint
            ) from error
        except Exception as error:
            raise AnswerLostError from error
        assert snapshot is not None
        return str(snapshot.snapshot_id)

    @cached_property
    def _catalog(self) -> Catalog:
        catalog = connection.connect(self.address)
        weakref.finalize(self, catalog.close)
        return catalog

    def _find_table(self) -> Table | None:
        try:
            return self._catalog.load_table(self.address.name)
        except (exceptions.NoSuchTableError, exceptions.NoSuchNamespaceError):
            return None

    def _choose_location(self, table: Table | None, request: CommitRequest) -> str:
        """Return where the job has written, in the catalog's own spelling; it may name a new place each time."""
        found = self._locate(table)
        if request.location in ("", to_job_uri(found)):
            return found
        scheme = found.partition("://")[0]
        own = f"{scheme}://{request.location.partition('://')[2]}"
        return own if to_job_uri(own) == request.location else request.location

    def _locate(self, table: Table | None) -> str:
        if table is None:
            return f"{self._find_new_location()}/data"
        chosen = table.properties.get(TableProperties.WRITE_DATA_PATH)
        return chosen.rstrip("/") if chosen else f"{table.location().rstrip('/')}/data"

    def _find_new_location(self) -> str:
        try:
            staged = self._catalog.create_table_transaction(self.address.name, Schema())
        except exceptions.NoSuchNamespaceError:
            warehouse = self.address.properties.get("warehouse")
            if warehouse is None or not has_scheme(warehouse):
                message = "its namespace is not there, and no path_prefix of the datasource says where to make it"
                raise self.address.make_error("OUTPUT_002", message, "make the namespace in the catalog") from None
            return f"{warehouse.rstrip('/')}/{self.address.name.replace('.', '/')}"
        except ValueError as error:
            # How pyiceberg refuses, for most catalogs, to make a table in a namespace of several levels.
            if self.address.name.count(".") < 2:
                raise
            message = "pyiceberg cannot make a table in a namespace of several levels in this catalog"
            hint = "make the table in the catalog, or name a namespace of one level"
            raise self.address.make_error("OUTPUT_002", message, hint) from error
        return str(staged._table.location()).rstrip("/")
