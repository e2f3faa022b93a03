"""Delta's types, and those of Spark SQL."""

from __future__ import annotations

from collections.abc import Iterable

from deltalake import Field, Schema
from deltalake.schema import PrimitiveType

from airflow_provider_runtime.core.tables.ports import TableColumn

_SPARK_TYPES = {"long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint"}
_DELTA_TYPES = {spark: delta for delta, spark in _SPARK_TYPES.items()}


def list_columns(schema: Schema) -> tuple[TableColumn, ...]:
    """Return the columns of a schema; a type that Spark has no plain column for keeps Delta's name."""
    return tuple(TableColumn(field.name, _to_spark(field), field.nullable) for field in schema.fields)


def make_fields(columns: Iterable[TableColumn]) -> list[Field]:
    """Return Delta's fields for columns that a run writes; all may be NULL."""
    return [Field(column.name, PrimitiveType(_DELTA_TYPES.get(column.type, column.type))) for column in columns]


def _to_spark(field: Field) -> str:
    if not isinstance(field.type, PrimitiveType):
        return str(field.type)
    spelled = str(field.type.type)
    return _SPARK_TYPES.get(spelled, spelled)
