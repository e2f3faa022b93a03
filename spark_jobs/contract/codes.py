"""Every error code, and what follows from it: which family it belongs to, whether a retry may help, the exit status.

A code is a `Literal`, so that mypy refuses one that is not in this table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

FamilyName = Literal[
    "definition", "period", "resolve", "data", "snapshot", "lease", "plan", "approval", "infrastructure"
]

DefinitionCode = Literal[
    "CATALOG_001", "CATALOG_002", "CATALOG_003", "CATALOG_004", "CATALOG_005",
    "PROJECT_001", "PROJECT_002", "PROJECT_003",
    "DATASET_001", "DATASET_002", "DATASET_003",
    "SELECTOR_001",
    "EXPR_001", "EXPR_002", "EXPR_003", "EXPR_004", "EXPR_005",
    "UPDATE_001", "UPDATE_002", "UPDATE_003", "UPDATE_006",
    "JOIN_001", "JOIN_002", "JOIN_003", "JOIN_004", "JOIN_005", "JOIN_006", "JOIN_007", "JOIN_008", "JOIN_009",
    "AGG_001", "AGG_002", "AGG_003", "AGG_004", "AGG_005",
    "APPEND_001", "APPEND_002", "APPEND_003", "APPEND_004", "APPEND_005", "APPEND_006",
    "OUTPUT_001", "OUTPUT_002",
    "CHECK_002",
    "WARN_001", "WARN_002", "WARN_003", "WARN_004", "WARN_005", "WARN_006",
]  # fmt: skip
PeriodCode = Literal["PERIOD_001", "PERIOD_002", "PERIOD_003", "PERIOD_004", "PERIOD_005"]
ResolveCode = Literal["RESOLVE_001", "RESOLVE_002", "RESOLVE_003", "RESOLVE_004", "APPEND_007", "SOURCE_001"]
DataCode = Literal[
    "DATA_001", "DATA_002", "DATA_003", "DATA_004", "JOIN_010", "JOIN_011", "APPEND_008", "CHECK_001"
]  # fmt: skip
SnapshotCode = Literal["SNAPSHOT_001"]
LeaseCode = Literal["RUN_001", "RUN_002"]
PlanCode = Literal["PLAN_001"]
ApprovalCode = Literal["APPROVAL_001"]
InfrastructureCode = Literal["INFRA_001", "INFRA_002", "OUTPUT_003"]

Code = (
    DefinitionCode
    | PeriodCode
    | ResolveCode
    | DataCode
    | SnapshotCode
    | LeaseCode
    | PlanCode
    | ApprovalCode
    | InfrastructureCode
)

EXIT_DEFINITION = 10
EXIT_DATA = 11
EXIT_INFRASTRUCTURE = 12


@dataclass(frozen=True, slots=True)
class Family:
    """Codes that are answered in the same way."""

    name: FamilyName
    exit_status: int = EXIT_DEFINITION
    """With which the Spark job ends."""
    is_retryable: bool = False
    """Whether the same run may succeed later, without a change."""


_FAMILIES: tuple[tuple[Family, object], ...] = (
    (Family("definition"), DefinitionCode),
    (Family("period"), PeriodCode),
    (Family("resolve"), ResolveCode),
    (Family("data", EXIT_DATA), DataCode),
    (Family("snapshot"), SnapshotCode),
    (Family("lease"), LeaseCode),
    (Family("plan"), PlanCode),
    (Family("approval"), ApprovalCode),
    (Family("infrastructure", EXIT_INFRASTRUCTURE, is_retryable=True), InfrastructureCode),
)
FAMILIES: dict[Code, Family] = {code: family for family, codes in _FAMILIES for code in get_args(codes)}


def get_family(code: Code) -> Family:
    """Return the family of a code."""
    return FAMILIES[code]


def find_code(text: object) -> Code | None:
    """Return the code that a text from elsewhere is; None when it is not one."""
    return next((code for code in FAMILIES if code == text), None)
