"""output: the touched rows with the columns asked for, in their order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.contract.sql import quote_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_jobs.contract.plan import OutputOperation


def select_output(frame: DataFrame, operation: OutputOperation) -> DataFrame:
    """Return exactly the output's columns."""
    return frame.selectExpr(*[quote_name(column.name) for column in operation.columns])
