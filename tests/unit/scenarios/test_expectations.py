"""What a scenario expects of checks, beside an error that it expects."""

from __future__ import annotations

import pytest

from airflow_provider_runtime.core.model.scenario import Expect
from airflow_provider_runtime.scenarios.expectations import compare_failures
from spark_jobs.contract.checks import CheckResult, CheckStatus


def make_result(name: str, status: CheckStatus) -> CheckResult:
    return CheckResult(name=name, output=20, kind="value", on_fail="block", status=status, message="5, expected 4")


RESULTS = {
    name: make_result(name, status)
    for name, status in {"a": "failed", "b": "failed", "c": "passed"}.items()  # type: ignore[arg-type]
}


@pytest.mark.parametrize(
    ("listed", "message", "unexpected"),
    [
        ((), None, []),
        (("a", "b"), None, []),
        (("a",), None, ["b"]),
        (("c",), None, []),
        (("a",), "'a'", ["b"]),
        (("a",), "'b'", []),
        (("c",), "'a'", ["b"]),
        (("c",), "expected 4", []),
    ],
)
def test_checks_that_fail_beside_the_expected_ones_are_reported(
    listed: tuple[str, ...], message: str | None, unexpected: list[str]
) -> None:
    checks = tuple({"name": name, "status": RESULTS[name].status} for name in listed)
    expected = Expect.model_validate({"error": {"code": "CHECK_001", "message": message}, "checks": checks})
    found = [mismatch.message for mismatch in compare_failures(expected, RESULTS)]
    assert found == [f"Check '{name}' failed: 5, expected 4" for name in unexpected]
