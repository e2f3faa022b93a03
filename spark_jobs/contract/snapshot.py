"""The run snapshot: one JSON document in canonical form, known by the SHA-256 of its bytes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Annotated, Any

from spark_jobs.contract.checks import Override
from spark_jobs.contract.compiled_sql import UnsafePlanError, check_plan
from spark_jobs.contract.documents import (
    NOT_IN_DOCUMENT,
    DocumentError,
    Matching,
    encode_canonical,
    read_document,
    write_document,
)
from spark_jobs.contract.file_lists import ReadLists, WrongListError, fill_in_lists, take_out_lists
from spark_jobs.contract.plan import Plan, Version
from spark_jobs.contract.problems import shorten
from spark_jobs.contract.tables import Table
from spark_jobs.contract.upgrades import upgrade

SNAPSHOT_VERSION = 2
MAX_SNAPSHOT_BYTES = 256 * 1024 * 1024
"""No snapshot is larger; what is, is not read."""

Identifier = Annotated[str, Matching(r"[A-Za-z0-9](?:[A-Za-z0-9_-]|\.[A-Za-z0-9_-])*\.?")]
"""Safe as the name of a folder: it cannot lead out of the one above."""


class UnreadableSnapshotError(ValueError):
    """Bytes are not a snapshot that can be trusted and run; the text says why."""

    def __init__(self, reason: str, hint: str = "resolve again") -> None:
        super().__init__(reason)
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Project:
    """The project that a snapshot belongs to."""

    id: Identifier
    name: str
    version: Version
    digest: str


@dataclass(frozen=True, slots=True)
class Period:
    """The period that a snapshot runs for."""

    identifier: Identifier
    level: str
    start_date: date
    end_date: date


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetPin:
    """The version and the resolver that a dataset got."""

    dataset_id: str
    dataset_version: int
    resolver_id: str
    resolver_version: int
    resolver_source: str
    table_version: str | None = None
    """Snapshot id or version, of an Iceberg or Delta table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinPin(DatasetPin):
    """The dataset of a join."""

    operation_seq: int
    alias: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendPin(DatasetPin):
    """The dataset of an append."""

    operation_seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupPin(DatasetPin):
    """The dataset of a lookup."""

    alias: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckPin(DatasetPin):
    """The dataset that a check compares with."""

    operation_seq: int | None = None
    """The output that is checked."""
    check: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolverSnapshot:
    """The versions and resolvers of all datasets."""

    input_dataset_id: str
    input_dataset_version: int
    resolver_id: str
    resolver_version: int
    resolver_source: str
    table_version: str | None = None
    """Snapshot id or version of the input, when it is an Iceberg or Delta table."""
    join_datasets: tuple[JoinPin, ...]
    append_datasets: tuple[AppendPin, ...]
    lookup_datasets: tuple[LookupPin, ...]
    check_datasets: tuple[CheckPin, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A run with every choice made: what is executed, for which period, on which versions."""

    snapshot_version: int = SNAPSHOT_VERSION
    run_id: str
    run_timestamp: datetime
    project: Project
    project_snapshot: Any
    """The definition as it was written."""
    period: Period
    as_of: date
    resolver_snapshot: ResolverSnapshot
    plan: Plan
    overrides: tuple[Override, ...] = ()
    """Checks that somebody lets pass although they fail."""
    content: bytes = field(default=b"", repr=False, metadata=NOT_IN_DOCUMENT)
    """The document itself."""
    file_lists: bytes = field(default=b"", repr=False, metadata=NOT_IN_DOCUMENT)
    """The document of long lists of files, which is kept beside it; empty when there are none."""
    sha256: str = field(default="", metadata=NOT_IN_DOCUMENT)

    @property
    def input_table(self) -> Table:
        """The table that the working dataset is loaded from."""
        return self.plan.tables[self.plan.input]

    @property
    def replaced_periods(self) -> tuple[str, ...]:
        """The run's period, and those that its input was read for instead, whose rows keep their own."""
        own, table = self.period.identifier, self.input_table
        if table.temporal.mode != "period":
            return (own,)
        others = {location.period for location in table.locations if location.period is not None}
        return (own, *sorted(others - {own}))


def seal_snapshot(snapshot: Snapshot) -> Snapshot:
    """Return a snapshot with its document and its digest."""
    plan, lists = take_out_lists(snapshot.plan)
    document = write_document(replace(snapshot, plan=plan)) | {"snapshot_version": snapshot.snapshot_version}
    content = encode_canonical(document)
    return replace(snapshot, content=content, file_lists=lists, sha256=hashlib.sha256(content).hexdigest())


def parse_snapshot(content: bytes, sha256: str, read_lists: ReadLists | None = None) -> Snapshot:
    """Return the snapshot that these bytes hold; UnreadableSnapshotError when they are another one, or none.

    `read_lists` is called for the document of long lists of files when the snapshot has such lists.
    """
    expected, found = sha256.removeprefix("sha256:").lower(), hashlib.sha256(content).hexdigest()
    if found != expected:
        raise UnreadableSnapshotError(
            f"snapshot's content does not match its digest: expected {expected}, found {found}",
            "resolve again, or take the file from its store: a snapshot never changes",
        )
    try:
        document = json.loads(content)
        # Half a character, which JSON can spell, can be written nowhere.
        json.dumps(document, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise UnreadableSnapshotError("the snapshot is not JSON") from None
    return replace(_read(document, read_lists), content=content, sha256=found)


def _read(document: Any, read_lists: ReadLists | None) -> Snapshot:
    version = document.get("snapshot_version") if isinstance(document, Mapping) else None
    if version not in (1, SNAPSHOT_VERSION) or isinstance(version, bool):
        message = f"snapshot version {shorten(str(version), 60)} is not known, expected 1 to {SNAPSHOT_VERSION}"
        raise UnreadableSnapshotError(message, "resolve again with this version of the package")
    try:
        snapshot = read_document(Snapshot, upgrade(document) if version == 1 else document)
        plan, lists = fill_in_lists(snapshot.plan, read_lists)
        check_plan(plan)
    except WrongListError as error:
        raise UnreadableSnapshotError(str(error), "resolve again, or copy them along with the snapshot") from error
    except (DocumentError, UnsafePlanError) as error:
        message = f"the snapshot is not one that this package has written: {shorten(str(error), 300)}"
        raise UnreadableSnapshotError(message) from error
    except (AttributeError, KeyError, TypeError) as error:
        # A document of version 1 of another shape, before it could be read strictly.
        raise UnreadableSnapshotError("the snapshot is not one that this package has written") from error
    return replace(snapshot, plan=plan, file_lists=lists)
