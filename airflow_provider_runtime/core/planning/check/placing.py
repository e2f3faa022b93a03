"""Problems found elsewhere, reported as a project's own."""

from __future__ import annotations

from dataclasses import replace

from airflow_provider_runtime.core.catalog.definition import Definition
from airflow_provider_runtime.core.errors import Code, Problem
from airflow_provider_runtime.core.model.project import Project


def place_in_project(problem: Problem, project: Definition[Project], role: str = "") -> Problem:
    """Return a problem as the project reports it: appends have codes of their own, and a place is always there."""
    if role == "append" and problem.code.startswith(("RESOLVE_", "DATA_001")):
        code: Code = "APPEND_007" if problem.code.startswith("RESOLVE_") else "APPEND_008"
        problem = replace(problem, code=code, message=f"{problem.code}: {problem.message}")
    if problem.location.file is None:
        problem = problem.at_place(project.locate())
    return problem if problem.location.project else problem.at(project=project.model.name)
