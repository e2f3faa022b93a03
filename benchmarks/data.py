"""Makes the pipelines' data: a ledger of any size, and the tables that it is joined with, the same every time.

python benchmarks/data.py --rows 1e6 --out FOLDER
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import duckdb

ROWS_PER_FILE = 1_000_000
CURRENCIES, ACCOUNTS = 180, 4000
# Every column has a salt of its own, so that columns are independent of each other and of the number of rows.
PICK = "CREATE MACRO pick(i, salt, n) AS (hash(i * 1000003 + salt) % n)::BIGINT"
PERIOD = "CASE pick(i, 1, 10) WHEN 0 THEN '2025-12' WHEN 1 THEN '2026-02' ELSE '2026-01' END"
CURRENCY = "CASE WHEN pick(i, 2, 10) < 4 THEN 'USD' ELSE 'C' || lpad(pick(i, 3, {n})::TEXT, 3, '0') END"
LEDGER = """
SELECT 'JE' || lpad((i // 6)::TEXT, 10, '0') AS journal_id, (i % 6 + 1)::INTEGER AS line_number,
  DATE '2025-12-01' + pick(i, 4, 90)::INTEGER AS posting_date,
  lpad(pick(i, 5, {accounts} + 20)::TEXT, 6, '0') AS account_code,
  CASE WHEN pick(i, 6, 4) > 0 THEN 'CC' || lpad(pick(i, 7, 700)::TEXT, 4, '0') END AS cost_center_code,
  {currency} AS currency,
  CASE WHEN pick(i, 8, 100) = 0 THEN 0 ELSE (pick(i, 9, 400000000) - 200000000) * 0.01 END::DECIMAL(18,2)
    AS amount_local,
  NULL::DECIMAL(18,2) AS amount_reporting,
  ['Invoice ', 'Payment ', 'Accrual ', 'Transfer '][pick(i, 10, 4) + 1] || pick(i, 11, 1000000)::TEXT AS description,
  ['ERP', 'BANK', 'HR', 'MANUAL'][pick(i, 12, 4) + 1] AS source_system,
  {period} AS _period
FROM range({first}, {last}) t(i)"""
RATES = """
SELECT c AS from_currency, target AS to_currency,
  (0.1 + pick(k * 7 + m, 20, 3000000) * 0.000001)::DECIMAL(18,6) AS rate,
  kind AS rate_type, (DATE '2025-11-01' + INTERVAL (m) MONTH)::DATE AS _period_from,
  CASE WHEN m < 3 THEN (DATE '2025-11-01' + INTERVAL (m + 1) MONTH)::DATE END AS _period_to
FROM (SELECT k, CASE WHEN k = 0 THEN 'USD' ELSE 'C' || lpad(k::TEXT, 3, '0') END AS c FROM range({n} - 2) r(k))
CROSS JOIN range(4) s(m) CROSS JOIN (VALUES ('USD'), ('EUR')) v(target)
CROSS JOIN (VALUES ('closing'), ('average')) w(kind)"""
ACCOUNT = """
SELECT lpad(k::TEXT, 6, '0') AS code, 'Account ' || k AS name, p AS _period,
  ['asset', 'liability', 'equity', 'revenue', 'expense'][pick(k, 30, 5) + 1] AS type
FROM range({accounts}) r(k) CROSS JOIN (VALUES ('2025-12'), ('2026-01'), ('2026-02')) v(p)"""
BUDGET = """
SELECT lpad(pick(i, 40, {accounts})::TEXT, 6, '0') AS account_code,
  'CC' || lpad(pick(i, 41, 700)::TEXT, 4, '0') AS cost_center_code,
  {currency} AS currency, (pick(i, 42, 900000000) * 0.01)::DECIMAL(18,2) AS amount_local,
  CASE WHEN pick(i, 43, 5) < 3 THEN 'original' ELSE 'revised' END AS budget_type, {period} AS _period
FROM range({rows}) t(i)"""
# Accounts were renumbered: a ledger has the new code or the former one, and no code is both.
LINE = """
SELECT lpad((2 * k)::TEXT, 6, '0') AS code, lpad((2 * k + 1)::TEXT, 6, '0') AS former_code,
  'L' || lpad(pick(k, 50, 40)::TEXT, 2, '0') AS line, 'S' || pick(k, 51, 8)::TEXT AS segment
FROM range({accounts} // 2 - 25) r(k)"""
TIER = """
SELECT tier::BIGINT AS tier, low::DECIMAL(18,2) AS low, high::DECIMAL(18,2) AS high, weight::DECIMAL(9,4) AS weight
FROM (VALUES (1, 0, 1000, 0.0010), (2, 1000, 10000, 0.0015), (3, 10000, 100000, 0.0020), (4, 100000, 500000, 0.0025),
  (5, 500000, 1000000, 0.0030), (6, 1000000, 100000000, 0.0040)) t(tier, low, high, weight)"""
CENTER = """
SELECT 'CC' || lpad(k::TEXT, 4, '0') AS code, ['EMEA', 'AMER', 'APAC', 'CORP'][pick(k, 60, 4) + 1] AS region
FROM range(680) r(k)"""
SMALL_TABLES = {
    "exchange_rates": RATES,
    "accounts": ACCOUNT,
    "budgets": BUDGET,
    "lines": LINE,
    "tiers": TIER,
    "centers": CENTER,
}


def write_data(folder: Path, rows: int, budget_rows: int | None = None) -> None:
    """Write all tables below a folder, unless they are there with that many rows.

    Budgets have a row for every twenty of the ledger unless told otherwise.
    """
    budget_rows = budget_rows or max(1, rows // 20)
    stamp = folder / "made.json"
    wanted = json.dumps({"rows": rows, "budgets": budget_rows, "layout": 3})
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return
    connection = duckdb.connect()
    connection.execute(PICK)
    values = {"n": CURRENCIES, "accounts": ACCOUNTS, "period": PERIOD, "currency": CURRENCY.format(n=CURRENCIES)}
    step = max(1, min(ROWS_PER_FILE, -(-rows // 2)))
    for number, first in enumerate(range(0, rows, step)):
        sql = LEDGER.format(first=first, last=min(rows, first + step), **values)
        _copy(connection, sql, folder / "transactions" / f"part-{number:04d}.parquet")
    for table, sql in SMALL_TABLES.items():
        _copy(connection, sql.format(rows=budget_rows, **values), folder / table / "part-0000.parquet")
    stamp.write_text(wanted, encoding="utf-8")


def _copy(connection: duckdb.DuckDBPyConnection, sql: str, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection.execute(f"COPY ({sql}) TO '{path}' (FORMAT parquet, COMPRESSION snappy, ROW_GROUP_SIZE 250000)")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=lambda text: int(float(text)), required=True)
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    write_data(asked.out, asked.rows)
