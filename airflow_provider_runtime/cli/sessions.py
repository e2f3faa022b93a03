"""Spark in the process of a command, and the lines of progress that people see meanwhile."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def start_session(master: str, conf: dict[str, str], *, is_small: bool = False) -> SparkSession:
    """Start Spark in this process, with its progress bar on a terminal."""
    from airflow_provider_runtime.cli.local_spark import start_spark

    if sys.stderr.isatty():
        conf = {"spark.ui.showConsoleProgress": "true", **conf}
    return start_spark(master, conf, is_small=is_small)


def require_session(master: str) -> None:
    """Raise if no Spark can be started with this master, before anything is made or recorded for its use."""
    from airflow_provider_runtime.cli.local_spark import require_master

    require_master(master)


def print_progress(line: str) -> None:
    """Print a line of progress."""
    click.echo(line, err=True)
