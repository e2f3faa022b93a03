from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url
from sqlalchemy.exc import OperationalError

from airflow_provider_runtime.core.errors import InfrastructureError
from airflow_provider_runtime.core.registry.sql import SqlRegistry
from tests.unit.core.registry.registry_cases import ELSEWHERE, make_start, make_write, read


class LosingRegistry(SqlRegistry):
    """Commits, and then loses the answer, as often as `losses` says."""

    losses = 0

    def _attempt(self, work: Callable[..., Any], begin: str | None) -> Any:
        outcome = super()._attempt(work, begin)
        if self.losses:
            self.losses -= 1
            raise OperationalError("COMMIT", {}, Exception("server closed the connection"), connection_invalidated=True)
        return outcome


@pytest.fixture
def registry(tmp_path: Path) -> LosingRegistry:
    opened = LosingRegistry(make_url(f"sqlite:///{tmp_path}/registry.db"), 2.0)
    opened.migrate()
    return opened


def test_finish_whose_commit_lost_its_answer_finds_its_own_version(registry: LosingRegistry) -> None:
    attempt = registry.begin_attempt(make_start("a"), holder=ELSEWHERE)
    registry.losses = 2
    (done,) = registry.finish_attempt(attempt, [make_write()], {})
    assert done.version == 1
    assert len(registry.list_versions("DS")) == 1
    assert read(registry) == [("2026-01", "file:/s/1")]


def test_begin_whose_commit_lost_its_answer_holds_the_lease(registry: LosingRegistry) -> None:
    registry.losses = 1
    attempt = registry.begin_attempt(make_start("a"), holder=ELSEWHERE)
    registry.heartbeat(attempt)


def test_period_closed_with_a_lost_answer_has_one_entry_of_history(registry: LosingRegistry) -> None:
    registry.losses = 1
    registry.set_period_status("gregorian", "2026-01", "closed", who="ann", reason="done")
    assert len(registry.get_period("gregorian", "2026-01").history) == 1


def test_answers_lost_forever_are_an_infrastructure_error(registry: LosingRegistry) -> None:
    registry.losses = 10_000
    with pytest.raises(InfrastructureError, match="INFRA_001"):
        registry.begin_attempt(make_start("a"), holder=ELSEWHERE)
