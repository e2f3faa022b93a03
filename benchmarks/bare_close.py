"""The FX close of the examples as a person writes it in PySpark: the same files in and out, and nothing else.

spark-submit benchmarks/bare_close.py DATA WAREHOUSE PERIOD
"""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession, functions

LEDGER = "journal_id, line_number, account_code, account_type, currency, amount_local, rate, amount_usd"


def main(data: str, warehouse: str, period: str) -> None:
    """Convert, sum, add the budget, write both tables."""
    spark = SparkSession.builder.getOrCreate()
    columns = "journal_id string, line_number bigint, posting_date date, account_code string, cost_center string, "
    ledger = spark.read.csv(
        f"{data}/transactions/{period}.csv",
        header=True,
        schema=columns + "currency string, amount_local decimal(18,2), description string",
    )
    rates = spark.read.csv(
        f"{data}/exchange_rates.csv",
        header=True,
        schema="from_currency string, to_currency string, rate decimal(18,6), valid_from date, valid_to date",
    ).where(f"valid_from <= date'{period}-01' AND (valid_to IS NULL OR valid_to > date'{period}-01')")
    accounts = spark.read.csv(f"{data}/accounts.csv", header=True, schema="code string, name string, type string")
    budgets = spark.read.csv(
        f"{data}/budgets/{period}.csv",
        header=True,
        schema="account_code string, budget_type string, amount decimal(18,2)",
    )
    converted = (
        ledger.join(rates.where("to_currency = 'USD'"), functions.expr("currency = from_currency"), "left")
        .join(accounts.selectExpr("code", "type AS account_type"), functions.expr("account_code = code"), "left")
        .where("amount_local <> 0")
        .selectExpr("*", "round(amount_local * rate, 2) AS amount_usd")
    )
    converted.selectExpr(*LEDGER.split(", ")).write.mode("overwrite").parquet(f"{warehouse}/ledger_usd/period={period}")
    actual = (
        converted.where("account_type IN ('revenue', 'expense')")
        .groupBy("account_code", "account_type")
        .agg(functions.expr("sum(amount_usd) AS actual_usd"), functions.expr("count(journal_id) AS postings"))
        .selectExpr("*", "CAST(0 AS decimal(18,2)) AS budget_usd")
    )
    budget = budgets.where("budget_type = 'original'").groupBy("account_code").agg(functions.expr("sum(amount) AS b"))
    both = actual.unionByName(budget.selectExpr("account_code", "b AS budget_usd"), allowMissingColumns=True)
    both.write.mode("overwrite").parquet(f"{warehouse}/monthly_close/period={period}")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
