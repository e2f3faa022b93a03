"""Every error of the package, and how an error is shown to a person.

RuntimeProviderError            the root; carries one or more problems
├── DefinitionError             a catalog, project, dataset or expression is wrong
├── PeriodError                 the period cannot be run (PERIOD_00x)
├── ResolveError                a version or location cannot be chosen (RESOLVE_00x, APPEND_007, SOURCE_001)
├── DataError                   the data do not fit (DATA_00x, JOIN_010, JOIN_011, APPEND_008, CHECK_001)
├── SnapshotError               a snapshot is not what its digest says (SNAPSHOT_001)
├── LeaseError                  another run or a newer attempt is at work (RUN_00x)
├── PlanError                   something has moved since it was planned or staged (PLAN_001)
├── ApprovalError               who approves may not approve this (APPROVAL_001)
└── InfrastructureError         a database, file system or cluster failed; worth a retry
"""

from __future__ import annotations

from collections.abc import Iterable

from spark_jobs.contract.codes import Code, FamilyName, get_family
from spark_jobs.contract.problems import Place, Problem, Severity

__all__ = [
    "ApprovalError",
    "Code",
    "DataError",
    "DefinitionError",
    "InfrastructureError",
    "LeaseError",
    "PeriodError",
    "Place",
    "PlanError",
    "Problem",
    "ResolveError",
    "RuntimeProviderError",
    "Severity",
    "SnapshotError",
    "get_error_class",
    "raise_problems",
]


class RuntimeProviderError(Exception):
    """Root of all errors that a user of the package can meet."""

    def __init__(self, problems: Problem | Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))

    def __reduce__(self) -> tuple[type, tuple[tuple[Problem, ...]]]:
        return type(self), (self.problems,)

    @property
    def code(self) -> Code:
        """Code of the first problem."""
        return self.problems[0].code

    @property
    def retryable(self) -> bool:
        """Whether the same run may succeed later, without a change."""
        return bool(self.problems) and get_family(self.code).is_retryable


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


class PlanError(RuntimeProviderError):
    """Something has moved since it was planned or staged."""


class ApprovalError(RuntimeProviderError):
    """Who approves may not approve this."""


class InfrastructureError(RuntimeProviderError):
    """A database, file system or cluster failed; the same run may succeed later."""


CLASSES: dict[FamilyName, type[RuntimeProviderError]] = {
    "definition": DefinitionError,
    "period": PeriodError,
    "resolve": ResolveError,
    "data": DataError,
    "snapshot": SnapshotError,
    "lease": LeaseError,
    "plan": PlanError,
    "approval": ApprovalError,
    "infrastructure": InfrastructureError,
}


def get_error_class(code: Code) -> type[RuntimeProviderError]:
    """Return the exception class that carries problems of this code."""
    return CLASSES[get_family(code).name]


def raise_problems(problems: Iterable[Problem]) -> None:
    """Raise all problems of severity error as one exception; do nothing when there is none."""
    errors = [problem for problem in problems if problem.severity == "error"]
    if errors:
        raise get_error_class(errors[0].code)(errors)
