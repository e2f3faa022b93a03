from __future__ import annotations

from pathlib import Path

from airflow_provider_runtime.core.registry.ports import Registry
from airflow_provider_runtime.core.registry.sql import open_registry
from tests.unit.core.registry.registry_cases import RegistryCases, begin, make_start
from tests.unit.core.registry.staged_run_cases import StagedRunCases


class TestRegistry(RegistryCases, StagedRunCases):
    """Memory and SQLite, by the fixture `registry`."""


def test_open_registry_makes_the_folder_of_its_file(tmp_path: Path) -> None:
    open_registry(f"sqlite:///{tmp_path}/a/b/registry.db").close()
    assert (tmp_path / "a" / "b" / "registry.db").exists()


def test_what_is_read_together_is_one_consistent_state(tmp_path: Path) -> None:
    registry, other = (open_registry(f"sqlite:///{tmp_path}/registry.db") for _ in range(2))
    begin(registry, make_start("a"))

    def look(reading: Registry) -> list[list[str]]:
        before = [run.run_id for run in reading.list_runs()]
        begin(other, make_start("b", period="2026-02"))
        return [before, [run.run_id for run in reading.list_runs()]]

    assert registry.read_together(look) == [["run-a"], ["run-a"]]
    assert len(registry.list_runs()) == 2
