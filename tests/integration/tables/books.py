"""A workplace whose ledger and results are tables of one format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from airflow_provider_runtime.cli.local_run import RunResult
from tests.integration.runs.workplace import Workplace, make_output, make_project, make_update
from tests.integration.tables.kit import TableKit

DATASOURCE = {
    "iceberg": {
        "type": "iceberg",
        "path_prefix": "../warehouse",
        "options": {"name": "lake", "uri": "sqlite:///../catalog.db"},
    },
    "delta": {"type": "delta", "path_prefix": ".."},
}
TABLE = {"iceberg": "finance.{}", "delta": "{}"}


@dataclass
class Books:
    """A workplace with tables of one format: a ledger that is read, and results that are written."""

    place: Workplace
    format: Any

    @property
    def ledger(self) -> TableKit:
        return TableKit(self.format, self.place.folder)

    @property
    def results(self) -> TableKit:
        return TableKit(self.format, self.place.folder, name="results")

    def destination(self, name: str = "results") -> dict[str, str]:
        return {"datasource_id": "tables", "table": TABLE[self.format].format(name)}

    def define_sources(self) -> None:
        strategy = {"type": "table", "datasource_id": "tables", "table": TABLE[self.format].format("{{table_name}}")}
        columns = [
            {"name": "account", "type": "string"},
            {"name": "amount", "type": "decimal", "precision": 18, "scale": 2},
        ]
        main = {"name": "ledger", "temporal_mode": "period", "columns": columns}
        self.place.write_catalog(
            "tables.yaml",
            [
                {"datasource": {"id": "tables", **DATASOURCE[self.format]}},
                {"resolver": {"id": "tables", "version": 1, "rules": [{"name": "tables", "strategy": strategy}]}},
                {"dataset": {"id": "ledger", "name": "GL", "version": 1, "resolver_id": "tables", "main_table": main}},
            ],
        )

    def define(self, operations: list[dict[str, Any]], **project: Any) -> None:
        self.place.write_catalog(
            "project.yaml", make_project("close", operations, input_dataset_id="ledger", **project)
        )

    def run(self, period: str = "2026-01", **options: Any) -> RunResult:
        return self.place.run("close", period, **options)

    def read_results(self, version: str | None = None) -> list[tuple[str, str, str]]:
        return sorted((row["_period"], row["account"], str(row["doubled"])) for row in self.results.read(version))


def double_into(destination: dict[str, Any], **arguments: Any) -> list[dict[str, Any]]:
    written = {"columns": ["account", "doubled", "_period"], **arguments}
    output = make_output(20, "", **written)
    output["arguments"]["destination"] = destination
    return [make_update(10, doubled="amount * 2"), output]
