"""Who has registered a dataset: a name belongs to one project, of whatever catalog."""

from __future__ import annotations

from airflow_provider_runtime.core.errors import Place, Problem
from airflow_provider_runtime.core.registry.ports import RunRecord


def list_registrant_problems(
    name: str, latest: RunRecord | None, project_id: str, place: Place | None = None
) -> list[Problem]:
    """Return CATALOG_003 for a project that would replace what another one's run, `latest`, has registered."""
    if latest is None or latest.project_id == project_id:
        return []
    message = f"dataset '{name}' is registered by project '{latest.project_name}' (id {latest.project_id})"
    hint = "give the dataset another name; a project that is the same as before keeps its id"
    return [Problem("CATALOG_003", message, hint, place or Place())]
