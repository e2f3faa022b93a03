from __future__ import annotations

from pathlib import Path

from airflow_provider_runtime.core.registry.sql import open_registry
from tests.unit.core.registry.registry_cases import RegistryCases


class TestRegistry(RegistryCases):
    """Memory and SQLite, by the fixture `registry`."""


def test_open_registry_makes_the_folder_of_its_file(tmp_path: Path) -> None:
    open_registry(f"sqlite:///{tmp_path}/a/b/registry.db").close()
    assert (tmp_path / "a" / "b" / "registry.db").exists()
