"""The run snapshot as the job sees it: verified bytes, then plain frozen dataclasses.

The plan's classes mirror `airflow_provider_runtime.core.model.plan`, field by field; a contract test holds the two
together.
"""

from __future__ import annotations

import hashlib
import json
import re
import stat
import types
from collections.abc import Collection, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints
from urllib.parse import unquote, urlparse

from spark_jobs.contract.compiled_sql import check_plan
from spark_jobs.errors import JobError
from spark_jobs.spark.storage import escape_pattern

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SNAPSHOT_VERSION = 1
MOST_BYTES = 256 * 1024 * 1024
"""No snapshot is larger; of one that is, this much is read, which cannot have its digest."""
_FOLDER_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]|\.[A-Za-z0-9_-])*\.?")


@dataclass(frozen=True, slots=True)
class Column:
    """A column with its type as Spark spells it."""

    name: str
    type: str
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in the YAML that an error points at."""

    file: str | None = None
    line: int = 1
    column: int = 1
    field: str | None = None
    operation_seq: int | None = None


@dataclass(frozen=True, slots=True)
class Location:
    """Where rows are: files, a table over JDBC, or rows written out."""

    kind: str
    format: str = ""
    uri: str = ""
    table: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    credential_ref: str | None = None
    on_missing: str = "error"
    period: str | None = None
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str | None, ...], ...] = ()

    @property
    def place(self) -> str:
        """The files' address as people write it, without the escapes of what is no pattern."""
        return re.sub(r"\\(.)", r"\1", self.uri)


@dataclass(frozen=True, slots=True)
class Temporal:
    """How a table's rows are chosen for the run's period."""

    mode: str
    period_column: str = "_period"
    from_column: str = "_period_from"
    to_column: str = "_period_to"


@dataclass(frozen=True, slots=True)
class Table:
    """A table at a pinned version, with everything that is needed to read it."""

    role: str
    dataset_id: str
    dataset_version: int
    table: str
    columns: tuple[Column, ...]
    temporal: Temporal
    locations: tuple[Location, ...]
    mark: str
    natural_key_columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Equality:
    """One equality of a join condition."""

    row: str
    alias: str


@dataclass(frozen=True, slots=True)
class Join:
    """A left join for one operation: a runtime join or a lookup."""

    alias: str
    table: str
    columns: tuple[str, ...]
    condition: str
    mark: str
    equalities: tuple[Equality, ...] = ()
    key: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Expression:
    """A column and the SQL of its value, cast to the column's type."""

    column: str
    type: str
    sql: str
    mark: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """What all compiled operations have."""

    type: str
    seq: int
    name: str
    mark: str
    columns_after: tuple[Column, ...]
    where: str | None = None
    joins: tuple[Join, ...] = ()
    where_aliases: tuple[str, ...] = ()
    origins: tuple[int, ...] | None = None
    """Origins of the rows that the selector may pick: 0 is the input, else the seq of what made them; None: any."""
    picks_by_origin: bool = False

    def may_touch(self, origins: Collection[int]) -> bool:
        """Tell whether it may touch rows of any of these origins."""
        return self.origins is None or not set(self.origins).isdisjoint(origins)

    def touches_all(self, origins: Collection[int]) -> bool:
        """Tell whether it touches all live rows of these origins for certain."""
        if self.where is None:
            return True
        return self.picks_by_origin and self.origins is not None and set(origins) <= set(self.origins)


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateOperation(Operation):
    """A compiled update."""

    assignments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregateOperation(Operation):
    """A compiled aggregate."""

    group_by: tuple[str, ...]
    aggregations: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendOperation(Operation):
    """A compiled append; without group_by the source's rows come as they are."""

    source: str
    source_dataset_id: str
    columns: tuple[Expression, ...]
    group_by: tuple[str, ...] = ()
    aggregations: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteOperation(Operation):
    """A compiled delete."""


@dataclass(frozen=True, slots=True)
class Destination:
    """Where an output goes."""

    kind: str
    format: str
    display: str
    uri: str = ""
    table: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    credential_ref: str | None = None


@dataclass(frozen=True, slots=True)
class Slice:
    """That an output is also kept as an immutable slice of a registered dataset."""

    dataset_id: str
    dataset_name: str
    uri_prefix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOperation(Operation):
    """A compiled output."""

    columns: tuple[Column, ...]
    include_deleted: bool
    write_mode: str
    destination: Destination
    slice: Slice | None = None


AnyOperation = UpdateOperation | AggregateOperation | AppendOperation | DeleteOperation | OutputOperation

OPERATION_CLASSES: dict[str, type[Operation]] = {
    "update": UpdateOperation,
    "aggregate": AggregateOperation,
    "append": AppendOperation,
    "delete": DeleteOperation,
    "output": OutputOperation,
}


@dataclass(frozen=True, slots=True)
class Plan:
    """What the job executes."""

    tables: Mapping[str, Table]
    input: str
    input_columns: tuple[Column, ...]
    operations: tuple[AnyOperation, ...]
    marks: Mapping[str, Mark]
    project_name: str
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Project:
    """The project that a snapshot belongs to."""

    id: str
    name: str
    version: int


@dataclass(frozen=True, slots=True)
class Period:
    """The period that a snapshot runs for."""

    identifier: str
    level: str
    start_date: date
    end_date: date


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A verified run snapshot."""

    sha256: str
    run_id: str
    run_timestamp: datetime
    project: Project
    period: Period
    as_of: date
    plan: Plan

    @property
    def input_table(self) -> Table:
        """The table that the working dataset is loaded from."""
        return self.plan.tables[self.plan.input]


def name_table(table: Table) -> str:
    """Return how messages speak of a table."""
    return f"table '{table.table}' of dataset '{table.dataset_id}'"


def name_column(table: Table, column: str | None) -> str:
    """Return how messages speak of a table's column."""
    return name_table(table) + (f", column '{column}'" if column else "")


def parse_snapshot(content: bytes, sha256: str) -> Snapshot:
    """Return the snapshot in these bytes, after its digest and version have been checked."""
    expected = sha256.removeprefix("sha256:").lower()
    found = hashlib.sha256(content).hexdigest()
    if found != expected:
        raise JobError(
            "SNAPSHOT_001",
            f"the snapshot's content has the digest {found}, expected {expected}",
            hint="resolve again; a snapshot never changes after it was written",
        )
    try:
        document = json.loads(content)
        # Half a character, which JSON can spell, can be written nowhere.
        json.dumps(document, ensure_ascii=False).encode()
        snapshot = build_snapshot(document, found)
        check_plan(snapshot.plan)
        for name in (snapshot.project.id, snapshot.period.identifier):
            if not _FOLDER_NAME.fullmatch(name):
                raise ValueError("an identifier in it is no name of a folder")
        return snapshot
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        raise JobError("SNAPSHOT_001", f"the snapshot is not one that this job can read: {error}") from error


def build_snapshot(document: Mapping[str, Any], sha256: str) -> Snapshot:
    """Return the snapshot in a parsed document; raises the errors of a document of another shape."""
    version = document["snapshot_version"]
    if version != SNAPSHOT_VERSION:
        raise ValueError(f"snapshot_version is {version!r}, this job reads {SNAPSHOT_VERSION}")
    timestamp = datetime.fromisoformat(document["run_timestamp"])
    project = document["project"]
    return Snapshot(
        sha256=sha256,
        run_id=str(document["run_id"]),
        run_timestamp=timestamp.replace(tzinfo=UTC) if timestamp.tzinfo is None else timestamp.astimezone(UTC),
        project=Project(str(project["id"]), str(project["name"]), int(project["version"])),
        period=build(Period, document["period"]),
        as_of=date.fromisoformat(document["as_of"]),
        plan=build(Plan, document["plan"]),
    )


def read_snapshot(spark: SparkSession, uri: str, sha256: str) -> Snapshot:
    """Read a snapshot from a local path, or from any URI that Spark can read."""
    return parse_snapshot(_read_bytes(spark, uri), sha256)


def _read_bytes(spark: SparkSession, uri: str) -> bytes:
    parsed = urlparse(uri)
    if parsed.scheme in ("", "file"):
        path = Path(unquote(parsed.path) if parsed.scheme else uri)
        try:
            # A pipe may never be written to, a device may never end.
            if not stat.S_ISREG(path.stat().st_mode):
                raise JobError("SNAPSHOT_001", f"the snapshot {uri} is no regular file")
            with path.open("rb") as file:
                return file.read(MOST_BYTES)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise JobError("SNAPSHOT_001", f"the snapshot {uri} cannot be read: {reason}") from error
    row = spark.read.format("binaryFile").load(escape_pattern(uri)).select("content").first()
    if row is None:
        raise JobError("SNAPSHOT_001", f"there is no snapshot at {uri}")
    return bytes(row["content"])


def build(kind: Any, value: Any) -> Any:
    """Return a value of a document as the type that a dataclass declares for it; unknown keys are ignored."""
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return _build_union(kind, value)
    if origin is tuple:
        return tuple(build(get_args(kind)[0], item) for item in _expect(list, value))
    if origin is not None and issubclass(origin, Mapping):
        item_type = get_args(kind)[1]
        return {key: build(item_type, item) for key, item in _expect(dict, value).items()}
    if is_dataclass(kind):
        return _build_dataclass(kind, _expect(dict, value))
    if kind is date:
        return date.fromisoformat(value)
    return value if kind is Any else _expect(kind, value)


def _build_union(kind: Any, value: Any) -> Any:
    if value is None:
        return None
    members = [member for member in get_args(kind) if member is not type(None)]
    if all(is_dataclass(member) for member in members) and len(members) > 1:
        return build(OPERATION_CLASSES[_expect(dict, value)["type"]], value)
    return build(members[0], value)


def _build_dataclass(kind: Any, value: dict[str, Any]) -> Any:
    hints = _get_hints(kind)
    arguments = {}
    for item in fields(kind):
        if item.name in value:
            arguments[item.name] = build(hints[item.name], value[item.name])
        elif item.default is MISSING and item.default_factory is MISSING:
            raise ValueError(f"{kind.__name__} lacks {item.name}")
    return kind(**arguments)


@cache
def _get_hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _expect(kind: type, value: Any) -> Any:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ValueError(f"expected {kind.__name__}, found {type(value).__name__}")
    return value
