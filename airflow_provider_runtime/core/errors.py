"""Every error of the package, and how an error is shown to a person.

RuntimeProviderError            the root; carries one or more problems
├── DefinitionError             a catalog, project, dataset or expression is wrong
├── PeriodError                 the period cannot be run (PERIOD_00x)
├── ResolveError                a version or location cannot be chosen (RESOLVE_00x, APPEND_007)
├── DataError                   the data do not fit (DATA_00x, JOIN_010, APPEND_008)
├── SnapshotError               a snapshot is not what its digest says (SNAPSHOT_001)
├── LeaseError                  another run or a newer attempt is at work (RUN_00x)
└── InfrastructureError         a database, file system or cluster failed; worth a retry
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Location:
    """Where a problem is: a place in a file, and the logical path to it."""

    file: str | None = None
    line: int = 1
    column: int = 1
    end_column: int | None = None
    project: str | None = None
    operation_seq: int | None = None
    field: str | None = None
    source_line: str | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, with the place and, where there is one, the remedy."""

    code: str
    message: str
    hint: str | None = None
    location: Location = field(default_factory=Location)
    severity: Severity = "error"

    def at(self, **changes: object) -> Problem:
        """Return the same problem with parts of its location replaced."""
        return replace(self, location=replace(self.location, **changes))  # type: ignore[arg-type]

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


class RuntimeProviderError(Exception):
    """Root of all errors that a user of the package can meet."""

    retryable: ClassVar[bool] = False

    def __init__(self, problems: Problem | Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))

    def __reduce__(self) -> tuple[type, tuple[tuple[Problem, ...]]]:
        return type(self), (self.problems,)

    @property
    def code(self) -> str:
        """Code of the first problem."""
        return self.problems[0].code


class DefinitionError(RuntimeProviderError):
    """A definition is wrong."""


class PeriodError(RuntimeProviderError):
    """The period cannot be run."""


class ResolveError(RuntimeProviderError):
    """A version or a location cannot be chosen."""


class DataError(RuntimeProviderError):
    """The data do not fit their declaration, or a value does not fit its column."""


class SnapshotError(RuntimeProviderError):
    """A snapshot is missing, unreadable, or not what its digest says."""


class LeaseError(RuntimeProviderError):
    """Another run or a newer attempt holds the lease."""


class InfrastructureError(RuntimeProviderError):
    """A database, file system or cluster failed; the same run may succeed later."""

    retryable = True


FAMILIES: dict[str, type[RuntimeProviderError]] = {
    "PERIOD": PeriodError,
    "RESOLVE": ResolveError,
    "DATA": DataError,
    "SNAPSHOT": SnapshotError,
    "RUN": LeaseError,
    "INFRA": InfrastructureError,
    "OUTPUT_003": InfrastructureError,
    "JOIN_010": DataError,
    "APPEND_007": ResolveError,
    "APPEND_008": DataError,
}


def get_error_class(code: str) -> type[RuntimeProviderError]:
    """Return the exception class that carries problems of this code."""
    return FAMILIES.get(code) or FAMILIES.get(code.rsplit("_", 1)[0]) or DefinitionError


def raise_problems(problems: Iterable[Problem]) -> None:
    """Raise all problems of severity error as one exception; do nothing when there is none."""
    errors = [problem for problem in problems if problem.severity == "error"]
    if errors:
        raise get_error_class(errors[0].code)(errors)
