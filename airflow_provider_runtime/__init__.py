"""Declarative, period-scoped computations on Spark, run by Airflow."""

__version__ = "0.1.0"
