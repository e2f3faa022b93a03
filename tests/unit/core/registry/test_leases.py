from __future__ import annotations

import subprocess
import sys

import pytest

from airflow_provider_runtime.core.errors import LeaseError
from airflow_provider_runtime.core.registry.leases import describe_holder, is_holder_gone, next_token
from airflow_provider_runtime.core.registry.memory import MemoryRegistry
from tests.unit.core.registry.registry_cases import make_start


def test_next_token_when_clock_was_moved_back_still_grows() -> None:
    assert next_token(1_000, 500) == 1_001
    assert next_token(1_000, 5_000) == 5_000


def test_begin_when_clock_was_moved_back_gives_a_higher_token_and_no_endless_lease() -> None:
    now = [10_000_000]
    registry = MemoryRegistry(lambda: now[0])
    first = registry.begin_attempt(make_start("a"), holder="x/1/1", lease_seconds=90)
    now[0] = 1_000_000
    with pytest.raises(LeaseError, match="RUN_001"):
        registry.begin_attempt(make_start("b"), holder="y/1/1", lease_seconds=90)
    now[0] += 90_001
    assert registry.begin_attempt(make_start("b"), holder="y/1/1").token == first.token + 1


def test_holder_that_lives_is_not_gone() -> None:
    assert is_holder_gone(describe_holder()) is False


def test_holder_that_ended_is_gone_unless_durable() -> None:
    program = (
        "from airflow_provider_runtime.core.registry.leases import describe_holder as d;"
        "print(d()); print(d(durable=True))"
    )
    output = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    plain, durable = output.split()
    assert is_holder_gone(plain) is True
    assert is_holder_gone(durable) is False


def test_holder_of_another_machine_is_never_called_gone() -> None:
    assert is_holder_gone("other-machine/1/1") is False
