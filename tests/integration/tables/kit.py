"""Tables of both formats in a folder, and attempts that write into them as a Spark job would."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from airflow_provider_runtime.core.tables import (
    CommitNote,
    CommitRequest,
    TableAddress,
    TableColumn,
    VersionedTable,
    open_table,
)

TYPES: Mapping[str, pa.DataType] = {
    "string": pa.string(),
    "bigint": pa.int64(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "decimal(18,2)": pa.decimal128(18, 2),
    "decimal(20,2)": pa.decimal128(20, 2),
    "decimal(38,2)": pa.decimal128(38, 2),
}
LEDGER = (TableColumn("account", "string"), TableColumn("amount", "decimal(18,2)"), TableColumn("_period", "string"))
Rows = Sequence[Mapping[str, Any]]


def lines(period: str, *amounts: str) -> list[dict[str, Any]]:
    """Rows of a ledger, one for each amount."""
    return [{"account": f"A{n}", "amount": Decimal(amount), "_period": period} for n, amount in enumerate(amounts)]


@dataclass(frozen=True)
class TableKit:
    """One table and what writes to it."""

    format: Literal["iceberg", "delta"]
    root: Path
    name: str = "ledger"
    store: str = ""
    """Where tables are, if not in the folder."""
    properties: Mapping[str, str] = field(default_factory=dict)
    """Of another catalog than a file beside the folder, and of the store."""

    @property
    def address(self) -> TableAddress:
        store = self.store or f"file://{self.root}"
        if self.format == "delta":
            return TableAddress("delta", f"{store}/{self.name}", f"lake/{self.name}", properties=self.properties)
        own = {"type": "sql", "uri": f"sqlite:///{self.root / 'catalog.db'}", "warehouse": f"{store}/warehouse"}
        properties = {**own, **self.properties}
        return TableAddress("iceberg", f"finance.{self.name}", f"lake/finance.{self.name}", "lake", properties)

    def open(self) -> VersionedTable:
        return open_table(self.address)

    def stage(
        self,
        rows: Rows,
        *,
        period: str = "2026-01",
        token: int = 1,
        project: str = "close",
        columns: Sequence[TableColumn] = LEDGER,
        periods: tuple[str, ...] | None = None,
        files: int = 1,
        digest: str = "d" * 64,
        content: str | None = None,
        shared: bool = True,
    ) -> CommitRequest:
        """Write rows where a job would, and return what the submitting process would commit."""
        run = hashlib.sha256(f"{project}/{period}".encode()).hexdigest()[:16]
        folder = f"runtime-{run}/{token:020d}-{secrets.token_hex(4)}-10"
        target, path = self._open_files(folder)
        target.create_dir(path)
        with target.open_output_stream(f"{path}/_uncommitted"):
            pass
        schema = pa.schema([(column.name, TYPES[column.type]) for column in columns])
        for number in range(files):
            part = pa.Table.from_pylist(list(rows[number::files]), schema=schema)
            pq.write_table(part, f"{path}/part-{number:05d}.parquet", filesystem=target)
        note = CommitNote(
            project, period, digest, token, 10, folder, (period,) if periods is None else periods, content
        )
        names = tuple(f"part-{n:05d}.parquet" for n in range(files))
        return CommitRequest(note, tuple(columns), names, is_shared=shared)

    def publish(self, rows: Rows, **changes: Any) -> str:
        """Stage and commit; return the version."""
        return self.open().commit(self.stage(rows, **changes)).version

    def has_folder_of(self, request: CommitRequest) -> bool:
        files, path = self._open_files(request.note.folder)
        return any(entry.is_file for entry in files.get_file_info(fs.FileSelector(path, allow_not_found=True)))

    def _open_files(self, folder: str) -> tuple[fs.FileSystem, str]:
        """Return the file system and the path of an attempt's folder."""
        location = self.open().find_location()
        scheme, _, path = location.partition("://")
        if scheme == "file":
            return fs.LocalFileSystem(), f"{path}/{folder}"
        found = {name.removeprefix("s3.").replace("-", "_"): value for name, value in self.properties.items()}
        known = {name.lower().removeprefix("aws_"): value for name, value in found.items()}
        s3 = fs.S3FileSystem(
            access_key=known["access_key_id"],
            secret_key=known["secret_access_key"],
            endpoint_override=known.get("endpoint") or known["endpoint_url"],
        )
        return s3, f"{path}/{folder}"

    def folder_of(self, request: CommitRequest) -> Path:
        return Path(self.open().find_location().removeprefix("file://")) / request.note.folder

    def read(self, version: str | None = None) -> list[dict[str, Any]]:
        """Read all rows through the format's own library."""
        if self.format == "delta":
            from deltalake import DeltaTable

            uri = self.address.name.removeprefix("file://")
            options = dict(self.properties) or None
            table = DeltaTable(uri, version=int(version) if version else None, storage_options=options)
            found = table.to_pyarrow_table()
        else:
            from pyiceberg.catalog import load_catalog

            with load_catalog("lake", **self.address.properties) as catalog:
                scan = catalog.load_table(self.address.name).scan(snapshot_id=int(version) if version else None)
                found = scan.to_arrow()
        return sorted(found.to_pylist(), key=lambda row: sorted((name, str(value)) for name, value in row.items()))


def with_base(request: CommitRequest, base: str | None) -> CommitRequest:
    """The same attempt, which began when the table stood at a version."""
    return replace(request, base=base, has_base=True)
