"""Writes the Iceberg ledger of the example `intercompany-balances`, as another team's program would."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog import load_catalog

HERE = Path(__file__).resolve().parent
SCHEMA = pa.schema(
    [
        ("company", pa.string()),
        ("partner", pa.string()),
        ("amount", pa.decimal128(18, 2)),
        ("_period", pa.string()),
    ]
)
POSTINGS = [
    ("DE01", "US01", "1500.00", "2026-01"),
    ("DE01", "US01", "-200.00", "2026-01"),
    ("US01", "DE01", "-1300.00", "2026-01"),
    ("DE01", "FR01", "80.50", "2026-02"),
]


def main() -> None:
    rows = [dict(zip(SCHEMA.names, (a, b, Decimal(c), d), strict=True)) for a, b, c, d in POSTINGS]
    with load_catalog(
        "ledger-catalog", uri=f"sqlite:///{HERE / 'catalog.db'}", warehouse=f"file://{HERE / 'warehouse'}"
    ) as catalog:
        catalog.create_namespace_if_not_exists("finance")
        table = catalog.create_table_if_not_exists("finance.intercompany", SCHEMA)
        write = table.overwrite if table.current_snapshot() else table.append
        write(pa.Table.from_pylist(rows, SCHEMA))


if __name__ == "__main__":
    main()
