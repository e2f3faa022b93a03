"""What projects were when they were run, against their present definitions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from airflow_provider_runtime.core.catalog.catalog import Catalog
from airflow_provider_runtime.core.catalog.definition import Definition
from airflow_provider_runtime.core.model.project import Project
from airflow_provider_runtime.core.planning.check.checked import CheckedProject
from airflow_provider_runtime.core.planning.check.project import ProjectChecks
from airflow_provider_runtime.core.planning.check.registered import add_registered_versions
from airflow_provider_runtime.core.planning.check.used_definitions import find_used_definitions
from airflow_provider_runtime.core.planning.snapshot.run_snapshots import RunSnapshots
from airflow_provider_runtime.core.planning.stale.changes import DefinitionChange, compare_definitions
from airflow_provider_runtime.core.planning.stale.compared import ComparedProject, merge_names
from airflow_provider_runtime.core.planning.stale.plan import Reason
from airflow_provider_runtime.core.registry.ports import Registry, RunRecord
from spark_jobs.contract.snapshot import Snapshot


@dataclass
class PastDefinitions:
    """Compares present definitions with those of runs, each pair once."""

    catalog: Catalog
    registry: Registry
    snapshots: RunSnapshots
    _edited: set[tuple[str, str, int]] = field(default_factory=set)
    _changes: dict[tuple[str, int, str], DefinitionChange | None] = field(default_factory=dict)

    def find_edited(self, registry: Registry, projects: Iterable[CheckedProject]) -> None:
        """Find the definitions that were edited under a version that was run."""
        used = {found for checked in projects for found in find_used_definitions(self.catalog, checked, ())}
        self._edited = {(found.kind, found.id, found.version) for found in registry.find_changed(sorted(used, key=str))}

    def is_edited(self, kind: str, identifier: str, version: int) -> bool:
        """Return whether a definition was edited under a version that was run."""
        return (kind, identifier, version) in self._edited

    def list_reasons(self, project: ComparedProject, run: RunRecord) -> Iterator[Reason]:
        """Yield the reason that a changed definition is, where it changes outputs."""
        change = self.compare(project, run)
        if change is None or not change.outputs:
            return
        where = "; ".join(f"output {found.seq}: {', '.join(found.columns)}" for found in change.outputs)
        version = project.definition.model.version
        versions = f"version {run.project_version} to {version}"
        if version == run.project_version:
            versions = f"version {version} was edited after use: give it a new version"
        detail = f"{versions}: {', '.join(change.operations) or 'what it reads'} ({where})"
        yield Reason("definition", detail, merge_names(found.columns for found in change.outputs))

    def compare(self, project: ComparedProject, run: RunRecord) -> DefinitionChange | None:
        """Return how the project differs from what it was in a run; None when it does not, or that is not known."""
        key = (project.id, run.project_version, project.definition.digest)
        if key not in self._changes:
            before = self._find_definition(project, run)
            if before is None or before.digest == project.definition.digest:
                self._changes[key] = None
            else:
                known = add_registered_versions(self.catalog, [before], self.registry)
                checked = ProjectChecks(known).check(before)
                self._changes[key] = compare_definitions(checked, project.checked) if checked.ok else None
        return self._changes[key]

    def _find_definition(self, project: ComparedProject, run: RunRecord) -> Definition[Project] | None:
        if run.project_version != project.definition.model.version:
            found = self.catalog.find_project(project.id, run.project_version)
            if found is not None:
                return found
        elif not self.is_edited("project", project.id, run.project_version):
            return None
        snapshot = self.snapshots.find(run)
        return read_project(snapshot) if snapshot is not None else None


def read_project(snapshot: Snapshot) -> Definition[Project] | None:
    """Return the project's definition that a snapshot was made from, None when it is not one of today's language."""
    try:
        model = Project.model_validate_json(json.dumps(snapshot.project_snapshot))
    except ValueError:
        return None
    return Definition.from_model("project", model, "<snapshot>")
