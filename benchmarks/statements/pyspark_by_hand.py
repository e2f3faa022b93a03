"""The statements pipeline as a good engineer writes it for Spark: three projections, detail rows written and read back.

It does not replace its outputs atomically, counts nothing, and does not look for duplicate matches.
"""

from __future__ import annotations

import time

from by_hand import make_row_id, start_spark
from outcome import SUMS, print_outcome, read_options


def main() -> None:
    """Run the pipeline once."""
    options = read_options()
    spark = start_spark("statements by hand")
    started = time.time()
    for table in ("transactions", "exchange_rates", "accounts", "budgets", "lines", "tiers", "centers"):
        spark.read.parquet(f"{options.data}/{table}").createOrReplaceTempView(table)
    # An OR in a join's condition would be a nested loop: two rows for each line make an equality of it.
    spark.sql(CODES).createOrReplaceTempView("codes")
    spark.sql(JOINED).createOrReplaceTempView("joined")
    spark.sql(MEASURED).createOrReplaceTempView("measured")
    spark.sql(DETAIL).createOrReplaceTempView("detail")
    lines = str(options.out / "lines")
    spark.sql(LINES).write.mode("overwrite").parquet(lines)
    spark.sql(REVIEW).write.mode("overwrite").parquet(str(options.out / "review"))
    spark.read.parquet(lines).createOrReplaceTempView("written")
    for name, sql in {"statement": STATEMENT, "segments": SEGMENTS}.items():
        spark.sql(sql).coalesce(1).write.mode("overwrite").parquet(str(options.out / name))
    print_outcome("pyspark by hand", options, started, time.time(), SUMS["statements"])
    spark.stop()


RATE = """(SELECT from_currency, rate FROM exchange_rates WHERE to_currency = '{target}' AND rate_type = '{kind}'
  AND _period_from <= DATE '2026-01-01' AND (_period_to IS NULL OR _period_to > DATE '2026-01-01'))"""
CODES = """
SELECT code, line, segment FROM lines UNION ALL SELECT former_code, line, segment FROM lines"""
JOINED = f"""
SELECT t.journal_id, t.line_number, t.posting_date, t.account_code, t.cost_center_code, t.currency, t.amount_local,
  t.description, t.source_system, t._period,
  CAST(t.amount_local * c.rate AS DECIMAL(28,2)) AS converted,
  CAST(t.amount_local * v.rate AS DECIMAL(28,2)) AS averaged,
  CAST(t.amount_local * e.rate AS DECIMAL(28,2)) AS amount_eur,
  COALESCE(a.type, 'unknown') AS account_type, COALESCE(l.line, 'L99') AS line,
  IF(l.line IS NULL, 'S9', l.segment) AS segment, r.tier, r.weight, COALESCE(g.region, 'NONE') AS region
FROM transactions t
LEFT JOIN {RATE.format(target="USD", kind="closing")} c ON t.currency = c.from_currency
LEFT JOIN {RATE.format(target="USD", kind="average")} v ON t.currency = v.from_currency
LEFT JOIN {RATE.format(target="EUR", kind="closing")} e ON t.currency = e.from_currency
LEFT JOIN (SELECT code, type FROM accounts WHERE _period = '2026-01') a ON t.account_code = a.code
LEFT JOIN codes l ON t.account_code = l.code
LEFT JOIN tiers r ON ABS(t.amount_local) >= r.low AND ABS(t.amount_local) < r.high
LEFT JOIN centers g ON t.cost_center_code = g.code
WHERE t._period = '2026-01' AND t.amount_local <> 0"""
MEASURED = """
SELECT *, COALESCE(converted, 0.00) AS amount_usd, IF(converted IS NULL, 0.00, averaged) AS amount_average,
  CAST(CASE account_type
    WHEN 'revenue' THEN IF(converted IS NULL, 0.00, averaged) * 0.985
    WHEN 'expense' THEN IF(converted IS NULL, 0.00, averaged) * 1.02
    WHEN 'liability' THEN IF(tier >= 4, COALESCE(converted, 0.00) * 1.001, COALESCE(converted, 0.00))
    ELSE COALESCE(converted, 0.00) END AS DECIMAL(28,2)) AS measure,
  CASE WHEN posting_date < DATE '2026-01-01' THEN 'late' WHEN posting_date >= DATE '2026-02-01' THEN 'early'
    ELSE 'in time' END AS timing,
  CASE WHEN description LIKE 'Invoice%' THEN 'invoice' WHEN description LIKE 'Payment%' THEN 'payment' ELSE 'other' END
    AS kind
FROM joined WHERE NOT (source_system = 'HR' AND account_type = 'equity')"""
DETAIL = """
SELECT *, measure - fee AS net, IF(account_type = 'revenue', CAST((measure - fee) * 0.19 AS DECIMAL(28,2)), 0.00) AS tax
FROM (SELECT *, IF(currency = 'USD', 0.00, CAST(ABS(measure) * weight AS DECIMAL(28,2))) AS fee,
  CAST(measure * CASE segment WHEN 'S0' THEN 0.10 WHEN 'S1' THEN 0.11 WHEN 'S2' THEN 0.12 WHEN 'S3' THEN 0.13
    WHEN 'S4' THEN 0.14 WHEN 'S5' THEN 0.15 WHEN 'S6' THEN 0.16 WHEN 'S7' THEN 0.17 ELSE 0.00 END AS DECIMAL(28,2))
    AS quota,
  CASE WHEN timing = 'late' AND tier >= 5 THEN 'late' WHEN source_system = 'MANUAL' AND tier = 6 THEN 'manual, large'
    WHEN source_system = 'MANUAL' THEN 'manual' WHEN converted IS NULL THEN 'no rate' END AS review
  FROM measured)"""
LINES = f"""
SELECT {make_row_id(0)} AS _row_id, journal_id,
  line_number, posting_date, account_code, cost_center_code, currency, amount_local, amount_usd, amount_average,
  amount_eur, account_type, line, segment, tier, region, measure, fee, quota, timing, kind, net, tax, review, _period
FROM detail"""
REVIEW = """
SELECT journal_id, line_number, description, source_system, measure, review FROM detail WHERE review IS NOT NULL"""
STATEMENT = """
SELECT line, region, account_type, SUM(net) AS total_net, SUM(tax) AS total_tax, COUNT(journal_id) AS line_count
FROM written GROUP BY line, region, account_type
UNION ALL SELECT COALESCE(l.line, 'L99'), 'BUDGET', NULL, SUM(amount_local), NULL, COUNT(*)
FROM budgets b LEFT JOIN codes l ON b.account_code = l.code
WHERE b._period = '2026-01' AND b.budget_type = 'original' GROUP BY COALESCE(l.line, 'L99')"""
SEGMENTS = """
SELECT segment, timing, kind, SUM(quota) AS total_quota, COUNT(*) AS line_count
FROM written GROUP BY segment, timing, kind"""


if __name__ == "__main__":
    main()
