"""output: the touched rows with the columns asked for, in their order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.contract.sql import quote_name
from spark_jobs.rows.operations.distinct import drop_repeated

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_jobs.contract.operations import OutputOperation


def select_output(frame: DataFrame, operation: OutputOperation) -> DataFrame:
    """Return exactly the output's columns."""
    names = [column.name for column in operation.columns]
    if operation.distinct:
        return drop_repeated(frame, names, "_row_id")
    return frame.selectExpr(*[quote_name(name) for name in names])
