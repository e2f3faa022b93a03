"""Outputs into Iceberg and Delta tables: where their files go, and whether the table takes their columns."""

from __future__ import annotations

from dataclasses import replace

from airflow_provider_runtime.core.model.operation import OutputOperation
from airflow_provider_runtime.core.planning.check.checked import CheckedOperation
from airflow_provider_runtime.core.planning.snapshot.compile import make_plan_columns
from airflow_provider_runtime.core.tables import TableColumn, open_table
from airflow_provider_runtime.core.tables.addresses import PropertyReader, make_address, to_job_uri
from spark_jobs.contract.operations import Destination


def locate_output(
    operation: CheckedOperation, destination: Destination, read_properties: PropertyReader | None
) -> Destination:
    """Return a destination with the folder for its files; raise OUTPUT_002 for columns that the table cannot take."""
    assert isinstance(operation.operation, OutputOperation)
    table = open_table(make_address(destination, read_properties))
    columns = tuple(TableColumn(column.name, column.type) for column in make_plan_columns(operation.output_columns))
    table.check_output(columns, by_period=operation.operation.arguments.write_mode == "replace_period")
    return replace(destination, uri=to_job_uri(table.find_location()))
