"""Where the outputs of a run go: destinations, folders of tables, and slices of registered datasets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from airflow_provider_runtime.core.catalog.definition import Definition
from airflow_provider_runtime.core.catalog.rules_secrets import holds_secret
from airflow_provider_runtime.core.errors import DefinitionError, Problem, RuntimeProviderError
from airflow_provider_runtime.core.model.period import Period
from airflow_provider_runtime.core.model.project import Project
from airflow_provider_runtime.core.planning.check.checked import CheckedProject
from airflow_provider_runtime.core.planning.check.output import describe_folder_column
from airflow_provider_runtime.core.planning.check.placing import place_in_project
from airflow_provider_runtime.core.planning.check.registered import infer_output_schema
from airflow_provider_runtime.core.planning.resolve.locations import make_uri
from airflow_provider_runtime.core.planning.resolve.slice_types import list_unreadable_slices
from airflow_provider_runtime.core.planning.snapshot.compile import resolve_destinations
from airflow_provider_runtime.core.planning.snapshot.table_outputs import locate_output
from airflow_provider_runtime.core.registry.ports import Registry
from airflow_provider_runtime.core.registry.registrants import list_registrant_problems
from airflow_provider_runtime.core.tables.addresses import PropertyReader
from spark_jobs.contract.operations import Destination, Slice

NOT_REGISTERED = {"version", "period_shift", "on_missing", "requires_all_periods"}
"""What the definition of a registered dataset never says."""


@dataclass(frozen=True, slots=True)
class OutputPlanner:
    """Chooses the places of a project's outputs; what is wrong with them is added to `problems`."""

    definition: Definition[Project]
    checked: CheckedProject
    registry: Registry | None
    read_properties: PropertyReader | None
    problems: list[Problem]
    sandbox: str | None
    """The datasource below which outputs are kept apart; None: they go where they are meant to."""
    is_offline: bool

    def locate(self) -> dict[int, Destination]:
        """Return the destinations by seq, those of tables with the folder for their files."""
        return self._locate_tables(self._resolve())

    def _resolve(self) -> dict[int, Destination]:
        try:
            found = resolve_destinations(self.checked, sandbox=self.sandbox)
            if self.sandbox is not None:
                self._check_sandbox_folders(found)
            return found
        except RuntimeProviderError as error:
            place = self.definition.locate()
            problem = Problem("OUTPUT_002", "the destination's datasource is not valid", "see validate", place)
            self._collect(error.problems or (problem,))
            return {}

    def _check_sandbox_folders(self, destinations: dict[int, Destination]) -> None:
        """Refuse for the files of a sandbox what is allowed where the output will go one day."""
        for operation in self.checked.operations:
            destination = destinations.get(operation.seq)
            fault = describe_folder_column(operation.output_columns)
            if destination is not None and destination.kind == "files" and fault is not None:
                place = self.definition.locate("operations", operation.index, "arguments")
                self.problems.append(Problem("OUTPUT_002", f"in the sandbox, {fault[0]}", fault[1], place))

    def _locate_tables(self, destinations: dict[int, Destination]) -> dict[int, Destination]:
        """Ask the tables that are written where their files go, and what they have against the columns."""
        if self.is_offline:
            return destinations
        located = dict(destinations)
        for operation in self.checked.operations:
            destination = destinations.get(operation.seq)
            if destination is None or destination.kind != "table":
                continue
            try:
                located[operation.seq] = locate_output(operation, destination, self.read_properties)
            except RuntimeProviderError as error:
                index = [found.seq for found in self.definition.model.operations].index(operation.seq)
                place = self.definition.locate("operations", index, "arguments", "destination")
                self._collect(replace(problem, location=place) for problem in error.problems)
        return located

    def make_slices(self, slice_store: str) -> dict[int, Slice]:
        """Return the slices of registered datasets that outputs are kept as, by seq."""
        store = make_store_uri(slice_store)
        slices = {}
        for operation in self.checked.operations:
            dataset = infer_output_schema(self.checked, operation.seq)
            if dataset is not None:
                prefix = f"{store}/{dataset.id}"
                definition = dataset.model_dump(mode="json", by_alias=True, exclude=NOT_REGISTERED)
                slices[operation.seq] = Slice(dataset.id, dataset.name, prefix, definition)
        return slices

    def check_registered(self, slices: dict[int, Slice], period: Period) -> None:
        """Refuse what would replace or hide what is registered already, before anything is computed."""
        if self.registry is None:
            return
        for operation in self.checked.operations:
            dataset = infer_output_schema(self.checked, operation.seq) if operation.seq in slices else None
            latest = self.registry.find_version(dataset.id) if dataset is not None else None
            if dataset is not None and latest is not None:
                place = self.definition.locate("operations", operation.index, "arguments", "register_as_dataset")
                self.problems.extend(list_unreadable_slices(dataset, latest, period.identifier, place))
                run = self.registry.find_run(latest.snapshot_sha256)
                self.problems.extend(list_registrant_problems(latest.name, run, self.definition.model.id, place))

    def _collect(self, problems: Iterable[Problem]) -> None:
        self.problems.extend(place_in_project(problem, self.definition) for problem in problems)


def make_store_uri(store: str) -> str:
    """Return a store's address: a URI as it is, a local folder as an absolute path."""
    if holds_secret(store):
        hint = "let the storage's own configuration hold it: the address is written into every snapshot"
        raise DefinitionError(Problem("CATALOG_002", "the address of the slice store contains a password", hint))
    return make_uri(Path(), store)
