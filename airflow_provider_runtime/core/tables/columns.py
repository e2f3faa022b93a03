"""The columns of an output beside those of its table."""

from __future__ import annotations

from collections.abc import Iterable

from airflow_provider_runtime.core.tables.ports import TableAddress, TableColumn


def find_added(
    address: TableAddress, known: Iterable[TableColumn], written: Iterable[TableColumn]
) -> list[TableColumn]:
    """Return the columns that a table has not yet; OUTPUT_002 for those that do not fit, and for those it requires."""
    found = {column.name: column for column in known}
    folded = {name.casefold(): name for name in found}
    columns = list(written)
    faults = []
    for column in columns:
        name = folded.get(column.name.casefold())
        if name is None:
            continue
        if name != column.name:
            faults.append(f"{column.name} is named {name} in the table")
        elif found[name].type != column.type:
            faults.append(f"{name} is {found[name].type} in the table, not {column.type}")
        elif not found[name].nullable:
            faults.append(f"{name} may not be NULL in the table")
    missing = found.keys() - {column.name for column in columns}
    faults += [f"{name} is required" for name in found if name in missing and not found[name].nullable]
    if faults:
        hint = "change the table's columns, or the output's"
        raise address.make_error("OUTPUT_002", f"its columns do not fit: {'; '.join(faults[:8])}", hint)
    return [column for column in columns if column.name not in found]
