from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_provider_runtime.core.registry.memory import MemoryRegistry
from airflow_provider_runtime.core.registry.sql import open_registry
from airflow_provider_runtime.core.registry.transactional import TransactionalRegistry


@pytest.fixture(params=["memory", "sqlite"])
def registry(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TransactionalRegistry]:
    opened = MemoryRegistry() if request.param == "memory" else open_registry(f"sqlite:///{tmp_path}/registry.db")
    yield opened
    opened.close()
