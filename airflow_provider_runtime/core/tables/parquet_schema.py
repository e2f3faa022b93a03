"""The columns of a Parquet file, as a dataset declares them; for a first look, pyarrow is enough."""

from __future__ import annotations

from pathlib import Path

from airflow_provider_runtime.core.errors import DataError, InfrastructureError, Problem

Column = tuple[str, str, int | None, int | None]
"""Name, type, precision and scale; a type that no dataset has is given as the file calls it."""


def read_parquet_columns(path: Path) -> list[Column]:
    """Return the columns of a file; DATA_001 when it cannot be read, INFRA_001 when pyarrow is not there."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        hint = "install pyarrow, or write the dataset by hand"
        raise InfrastructureError(Problem("INFRA_001", f"reading {path} needs pyarrow", hint)) from None
    try:
        schema = pq.read_schema(path)
    except (OSError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0]
        hint = "is it a Parquet file, and complete?"
        raise DataError(Problem("DATA_001", f"{path} cannot be read as Parquet: {reason}", hint)) from None
    return [_describe(field.name, field.type) for field in schema]


def _describe(name: str, kind: object) -> Column:
    from pyarrow import types

    if types.is_dictionary(kind):
        return _describe(name, kind.value_type)  # type: ignore[attr-defined]
    if types.is_decimal(kind) and kind.precision <= 38:  # type: ignore[attr-defined]
        return name, "decimal", int(kind.precision), int(kind.scale)  # type: ignore[attr-defined]
    tests = {
        "string": (types.is_string, types.is_large_string),
        "integer": (types.is_integer,),
        "boolean": (types.is_boolean,),
        "date": (types.is_date,),
        "timestamp": (types.is_timestamp,),
    }
    if types.is_timestamp(kind) and kind.unit == "ns":  # type: ignore[attr-defined]
        return name, "timestamp of nanoseconds", None, None
    found = next((word for word, checks in tests.items() if any(check(kind) for check in checks)), str(kind))
    return name, found, None, None
