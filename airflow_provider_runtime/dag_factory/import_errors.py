"""Mistakes in a catalog as import errors in Airflow's UI, while the file's other DAGs stay.

An import error under the name of a DAG file takes all of the file's DAGs away. So each YAML file with mistakes gets an
error of its own. Airflow offers no way to say so; but it validates every DAG that it finds in a file, and what it finds
here is not a DAG: asked to be valid, it hands the errors over and is passed by.
"""

from __future__ import annotations

import hashlib
import logging
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

from airflow.exceptions import AirflowClusterPolicySkipDag
from airflow.sdk import DAG

from airflow_provider_runtime.core.errors import Problem
from airflow_provider_runtime.core.rendering import render_problems

log = logging.getLogger(__name__)


def report_import_errors(root: Path, problems: Iterable[Problem]) -> None:
    """Log what is wrong in a catalog, and show it as an import error of each file."""
    by_file: dict[Path, list[Problem]] = {}
    for problem in problems:
        by_file.setdefault(root / (problem.location.file or ""), []).append(problem)
    if not by_file:
        return
    errors = {path: render_problems(found) for path, found in by_file.items()}
    for path, text in errors.items():
        log.error("%s has mistakes:\n%s", path, text)
    # A DAG that is used in a `with` block is found by Airflow without a name in the DAG file.
    with _ErrorCarrier(root, errors):
        pass


class _ErrorCarrier(DAG):
    """Hands the errors of YAML files to the DagBag that meets it."""

    def __init__(self, root: Path, errors: Mapping[Path, str]) -> None:
        super().__init__(dag_id=f"import_errors_{hashlib.sha256(bytes(root)).hexdigest()[:16]}", schedule=None)
        self._errors = dict(errors)

    def validate(self) -> None:
        """Add the errors to those of the DagBag that asks, and be passed by."""
        bag = _find_bag(sys._getframe(1))
        if bag is not None:
            for path, text in self._errors.items():
                bag.import_errors[_name_file(path, bag.bundle_path)] = text
        raise AirflowClusterPolicySkipDag


def _find_bag(frame: FrameType | None) -> Any:
    """Return the DagBag that a frame, or one that called it, belongs to."""
    while frame is not None:
        found = frame.f_locals.get("self")
        if isinstance(getattr(found, "import_errors", None), dict):
            return found
        frame = frame.f_back
    return None


def _name_file(path: Path, bundle: Path | None) -> str:
    """Return the name that Airflow gives a file: relative to its bundle if it is in one."""
    if bundle is None:
        return str(path)
    for folder in (bundle, bundle.resolve()):
        if path.is_relative_to(folder):
            return str(path.relative_to(folder))
    return str(path)
