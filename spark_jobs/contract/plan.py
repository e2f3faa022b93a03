"""The plan: the part of a snapshot that the Spark job executes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from spark_jobs.contract.checks import Check
from spark_jobs.contract.documents import Between
from spark_jobs.contract.operations import AnyOperation, Destination, OutputOperation
from spark_jobs.contract.tables import Column, Location, Mark, Table

MAX_VERSION = 2**31 - 1
PERIOD_BITS = (2**28 - 1) << 34
"""The bits of a row's id that its period changes; those that follow keep a file's rows in their order."""

PeriodStatus = Literal["open", "closed", "locked"]
Version = Annotated[int, Between(1, MAX_VERSION)]


@dataclass(frozen=True, slots=True)
class UsedDefinition:
    """A definition that a run used, with the digest that it had; drafts are not among them."""

    kind: str
    id: str
    version: Version
    digest: str


@dataclass(frozen=True, slots=True)
class RuleTrace:
    """Why a resolver's rule was chosen or skipped."""

    name: str
    matched: bool
    reason: str


@dataclass(frozen=True, slots=True)
class TableTrace:
    """Why a table is read from where it is, for people to read."""

    dataset: str
    """The dataset's name."""
    version: str = ""
    resolver: str = ""
    resolver_id: str = ""
    rules: tuple[RuleTrace, ...] = ()
    data_level: str | None = None
    periods: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PublicationSettings:
    """What is asked before anything is published."""

    compare: bool = False
    """Whether a run that replaces a published period is compared with what it replaces."""
    needs_approval: bool = False
    by: tuple[str, ...] = ()
    """Who may approve."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What is needed to run a plan beside what is executed."""

    calendar: str = "gregorian"
    allow_closed: bool = False
    file_status: PeriodStatus = "open"
    """The period's status in the calendar's file."""
    enclosing_periods: tuple[str, ...] = ()
    """Identifiers of the coarser periods that the period belongs to."""
    previous_period: str | None = None
    """Identifier of the period before, '' when the calendar has none; None in a snapshot of an older package."""
    definitions: tuple[UsedDefinition, ...] = ()
    trace: Mapping[str, TableTrace] = field(default_factory=dict)
    """By the table's key."""
    publication: PublicationSettings = field(default_factory=PublicationSettings)


@dataclass(frozen=True, slots=True)
class Plan:
    """What the Spark job executes."""

    tables: Mapping[str, Table]
    input: str
    """Key into tables."""
    input_columns: tuple[Column, ...]
    """The working dataset's columns before the first operation: the declared ones, then the system columns."""
    operations: tuple[AnyOperation, ...]
    marks: Mapping[str, Mark]
    project_name: str
    settings: Settings = field(default_factory=Settings)
    checks: tuple[Check, ...] = ()
    keep_failing_rows: bool = True
    period_bits: Annotated[int, Between(0, PERIOD_BITS)] = 0
    """Tell the ids of this run's rows from those of other periods that have the same timestamp."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The working dataset's columns after the last operation."""
        return (*self.input_columns, *(column for operation in self.operations for column in operation.adds))

    @property
    def outputs(self) -> tuple[OutputOperation, ...]:
        """The outputs in seq order."""
        return tuple(operation for operation in self.operations if isinstance(operation, OutputOperation))

    def list_credential_refs(self) -> list[str]:
        """Return every reference to credentials that the job needs, each once.

        Catalogs of tables are asked by planning and by the submitting process; the job reads and writes plain files.
        """
        locations = [location for table in self.tables.values() for location in table.locations]
        places: list[Location | Destination] = [*locations, *(output.destination for output in self.outputs)]
        return sorted({place.credential_ref for place in places if place.credential_ref and place.kind != "table"})
