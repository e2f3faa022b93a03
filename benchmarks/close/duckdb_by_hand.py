"""The close pipeline in DuckDB: what one machine can do without Spark."""

from __future__ import annotations

import time

import duckdb
from outcome import SUMS, print_outcome, read_options

HEAD = """'019c2199-a070-7{seq:03x}-8000-' || lpad(to_hex({position}), 12, '0') AS _row_id, {seq} AS _operation_seq,
  FALSE AS _deleted"""
DETAIL = """
CREATE TABLE detail AS
SELECT {head}, 'transactions' AS _source_dataset, TIMESTAMPTZ '2026-02-03 04:05:06+00' AS _updated_at,
  journal_id, line_number, posting_date, account_code, cost_center_code, currency, amount_local,
  CAST(amount_local * rate AS DECIMAL(18,2)) AS amount_reporting,
  CASE WHEN source_system = 'ERP' THEN description || ' [ERP]' ELSE description END AS description,
  source_system, t._period, a.type AS account_type
FROM read_parquet('{data}/transactions/*.parquet') t
LEFT JOIN (SELECT from_currency, rate FROM read_parquet('{data}/exchange_rates/*.parquet')
  WHERE to_currency = 'USD' AND rate_type = 'closing' AND _period_from <= DATE '2026-01-01'
  AND coalesce(_period_to > DATE '2026-01-01', TRUE)) ON currency = from_currency
LEFT JOIN (SELECT code, type FROM read_parquet('{data}/accounts/*.parquet') WHERE _period = '2026-01') a
  ON account_code = a.code
WHERE t._period = '2026-01' AND amount_local <> 0"""
TOTALS = """
CREATE TABLE totals AS SELECT {head}, * FROM (
  SELECT account_type, currency, CAST(SUM(amount_local) AS DECIMAL(28,2)) AS total_local,
    COUNT(journal_id) AS line_count
  FROM detail GROUP BY ALL)"""
BUDGETS = """
CREATE TABLE planned AS SELECT {head}, 'budgets' AS _source_dataset, account_code, cost_center_code, currency,
  amount_local, budget_type, _period
FROM read_parquet('{data}/budgets/*.parquet') WHERE _period = '2026-01' AND budget_type = 'original'"""
ROLLUP = """
CREATE TABLE rollup AS SELECT {head}, * FROM (
  SELECT currency, CAST(SUM(amount_reporting) AS DECIMAL(28,2)) AS total_reporting
  FROM (SELECT currency, amount_reporting FROM detail UNION ALL SELECT currency, NULL FROM planned) GROUP BY ALL)"""
ALL = "FROM detail UNION ALL BY NAME FROM totals UNION ALL BY NAME FROM planned UNION ALL BY NAME FROM rollup"


def main() -> None:
    """Run the pipeline once."""
    options = read_options()
    connection = duckdb.connect(config={"threads": 2})
    connection.execute("SET TimeZone = 'UTC'; SET preserve_insertion_order = FALSE")
    started = time.time()
    for seq, sql in ((0, DETAIL), (6, TOTALS), (7, BUDGETS), (8, ROLLUP)):
        position = "row_number() OVER ()"
        connection.execute(sql.format(head=HEAD.format(seq=seq, position=position), data=options.data))
    for name, sql in {
        "out_a": "SELECT journal_id, line_number, account_type, currency, amount_reporting FROM detail",
        "out_b": ALL,
    }.items():
        (options.out / name).mkdir(exist_ok=True)
        connection.execute(f"COPY ({sql}) TO '{options.out / name}/part-0.parquet' (COMPRESSION snappy)")
    print_outcome("duckdb by hand", options, started, time.time(), SUMS["close"])


if __name__ == "__main__":
    main()
