"""Rows that fail a check: some are kept as Parquet beside the report, and a few are shown in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from spark_jobs.contract.addresses import escape_pattern
from spark_jobs.contract.checks import MOST_FAILING_ROWS, MOST_SAMPLES
from spark_jobs.contract.sql import quote_name
from spark_jobs.spark.storage import join_uri

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructField

Sample = tuple["Mapping[str, str | None]", ...]


@dataclass(frozen=True, slots=True)
class FailingRows:
    """Keeps failing rows below a folder; without one they are only shown."""

    spark: SparkSession
    folder: str | None
    are_wanted: bool = True

    def keep(self, name: str, rows: DataFrame) -> tuple[str | None, Sample]:
        """Return where the rows are kept and a few of them."""
        if not self.are_wanted:
            return None, ()
        uri = self._write(name, rows) if self.folder is not None else None
        shown = rows if uri is None else self.spark.read.schema(rows.schema).parquet(escape_pattern(uri))
        texts = [_spell_text(field) for field in shown.schema.fields]
        return uri, tuple(row.asDict() for row in shown.selectExpr(*texts).limit(MOST_SAMPLES).collect())

    def _write(self, name: str, rows: DataFrame) -> str | None:
        """Write the rows; that they cannot be kept never hides that they fail."""
        assert self.folder is not None
        uri = join_uri(self.folder, name)
        try:
            rows.limit(MOST_FAILING_ROWS).coalesce(1).write.mode("overwrite").parquet(uri)
        except Exception:  # noqa: BLE001 - file systems fail in many ways
            return None
        return uri


def _spell_text(field: StructField) -> str:
    """Return SQL of a column's value as text, exact."""
    name = quote_name(field.name)
    text = f"CAST({name} AS STRING)"
    if field.dataType.typeName() == "timestamp":
        text = f"concat(replace({text}, ' ', 'T'), 'Z')"
    return f"{text} AS {name}"
