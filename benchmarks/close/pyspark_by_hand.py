"""The close pipeline as a good engineer writes it for Spark: SQL text, few passes, detail rows written and read back.

It does not replace its outputs atomically, counts nothing, and does not look for duplicate matches.
"""

from __future__ import annotations

import time

from by_hand import make_row_id, start_spark
from outcome import SUMS, print_outcome, read_options
from pyspark.sql import DataFrame, SparkSession

STAMP = "TIMESTAMP '2026-02-03 04:05:06'"
TYPES = {
    "_row_id": "string", "_source_dataset": "string", "_operation_seq": "int", "_deleted": "boolean",
    "_updated_at": "timestamp", "journal_id": "string", "line_number": "int", "posting_date": "date",
    "account_code": "string", "cost_center_code": "string", "currency": "string", "amount_local": "decimal(18,2)",
    "amount_reporting": "decimal(18,2)", "description": "string", "source_system": "string", "_period": "string",
    "account_type": "string", "total_local": "decimal(28,2)", "line_count": "bigint", "budget_type": "string",
    "total_reporting": "decimal(28,2)",
}  # fmt: skip


def main() -> None:
    """Run the pipeline once."""
    options = read_options()
    spark = start_spark("close by hand")
    started = time.time()
    for table in ("transactions", "exchange_rates", "accounts", "budgets"):
        spark.read.parquet(f"{options.data}/{table}").createOrReplaceTempView(table)
    target = str(options.out / "out_b")
    fit(spark, DETAIL.format(row_id=make_row_id(0))).write.mode("overwrite").parquet(target)
    schema = ", ".join(f"{name} {kind}" for name, kind in TYPES.items())
    spark.read.schema(schema).parquet(target).createOrReplaceTempView("detail")
    columns = "journal_id, line_number, account_type, currency, amount_reporting"
    spark.sql(f"SELECT {columns} FROM detail").write.mode("overwrite").parquet(str(options.out / "out_a"))
    # Both sums come from one pass over the detail rows: the second rolls up the first.
    spark.sql(PARTIAL).coalesce(1).cache().createOrReplaceTempView("partial")
    small = [fit(spark, sql.format(row_id=make_row_id(seq))) for seq, sql in ((6, TOTALS), (7, BUDGETS), (8, ROLLUP))]
    small[0].unionByName(small[1]).unionByName(small[2]).coalesce(1).write.mode("append").parquet(target)
    print_outcome("pyspark by hand", options, started, time.time(), SUMS["close"])
    spark.stop()


def fit(spark: SparkSession, sql: str) -> DataFrame:
    """Return a query's rows with all columns of the output."""
    frame = spark.sql(sql)
    there = set(frame.columns)
    return frame.selectExpr(*(f"CAST({n if n in there else 'NULL'} AS {kind}) AS {n}" for n, kind in TYPES.items()))


DETAIL = f"""
SELECT {{row_id}} AS _row_id, 'transactions' AS _source_dataset, 0 AS _operation_seq, FALSE AS _deleted,
  {STAMP} AS _updated_at, t.journal_id, t.line_number, t.posting_date, t.account_code, t.cost_center_code, t.currency,
  t.amount_local, t.amount_local * r.rate AS amount_reporting,
  IF(t.source_system = 'ERP', concat(t.description, ' [ERP]'), t.description) AS description,
  t.source_system, t._period, a.type AS account_type
FROM transactions t
LEFT JOIN (SELECT from_currency, rate FROM exchange_rates WHERE to_currency = 'USD' AND rate_type = 'closing'
  AND _period_from <= DATE '2026-01-01' AND (_period_to IS NULL OR _period_to > DATE '2026-01-01')) r
  ON t.currency = r.from_currency
LEFT JOIN (SELECT code, type FROM accounts WHERE _period = '2026-01') a ON t.account_code = a.code
WHERE t._period = '2026-01' AND t.amount_local <> 0"""
PARTIAL = """
SELECT account_type, currency, SUM(amount_local) AS total_local, COUNT(journal_id) AS line_count,
  SUM(amount_reporting) AS reporting FROM detail GROUP BY account_type, currency"""
TOTALS = """
SELECT {row_id} AS _row_id, 6 AS _operation_seq, FALSE AS _deleted, account_type, currency, total_local, line_count
FROM partial"""
BUDGETS = """
SELECT {row_id} AS _row_id, 'budgets' AS _source_dataset, 7 AS _operation_seq, FALSE AS _deleted, account_code,
  cost_center_code, currency, amount_local, budget_type, _period
FROM budgets WHERE _period = '2026-01' AND budget_type = 'original'"""
ROLLUP = """
SELECT {row_id} AS _row_id, 8 AS _operation_seq, FALSE AS _deleted, currency, SUM(reporting) AS total_reporting FROM (
  SELECT currency, reporting FROM partial
  UNION ALL SELECT DISTINCT currency, CAST(NULL AS DECIMAL(28,2)) FROM budgets
  WHERE _period = '2026-01' AND budget_type = 'original') GROUP BY currency"""


if __name__ == "__main__":
    main()
