"""Every code belongs to one family, and the family says how core, the job and Airflow answer."""

from __future__ import annotations

from collections import Counter
from typing import get_args

import pytest

from airflow_provider_runtime.core.errors import (
    DataError,
    DefinitionError,
    InfrastructureError,
    LeaseError,
    Problem,
    ResolveError,
    get_error_class,
)
from spark_jobs.contract import codes
from spark_jobs.contract.codes import FAMILIES, Code, find_code, get_family


def test_code_belongs_to_one_family_only() -> None:
    literals = [value for name, value in vars(codes).items() if name.endswith("Code") and name != "Code"]
    counted = Counter(code for literal in literals for code in get_args(literal))
    assert set(counted.values()) == {1}
    assert set(counted) == set(FAMILIES)


@pytest.mark.parametrize(
    ("code", "kind", "exit_status"),
    [
        ("CATALOG_001", DefinitionError, 10),
        ("APPEND_007", ResolveError, 10),
        ("RUN_002", LeaseError, 10),
        ("DATA_003", DataError, 11),
        ("JOIN_011", DataError, 11),
        ("CHECK_001", DataError, 11),
        ("APPEND_008", DataError, 11),
        ("OUTPUT_003", InfrastructureError, 12),
        ("INFRA_001", InfrastructureError, 12),
    ],
)
def test_family_gives_class_and_exit_status(code: Code, kind: type, exit_status: int) -> None:
    assert (get_error_class(code), get_family(code).exit_status) == (kind, exit_status)


@pytest.mark.parametrize(("code", "expected"), [("INFRA_001", True), ("OUTPUT_003", True), ("DATA_001", False)])
def test_error_is_retryable_as_its_code_is(code: Code, expected: bool) -> None:
    assert get_error_class(code)(Problem(code, "x")).retryable is expected


@pytest.mark.parametrize("text", ["DATA_999", "data_001", "", None, 3])
def test_text_that_is_not_a_code_is_not_found(text: object) -> None:
    assert find_code(text) is None
