"""`airflow-runtime warmup`: makes the archive of classes that lets Spark start quicker, now."""

from __future__ import annotations

import os

import click


@click.command("warmup")
def command() -> None:
    """Prepare a quicker start of Spark on this machine, for local masters.

    It keeps an archive of classes, and prints its place and size. Without it the first local run has the archive
    made in the background. In an image that is built once and started often, call it while building. The folder is
    .cache in the virtual environment, else ~/.cache; AIRFLOW_RUNTIME_CACHE names another one, or `off`.

    \b
    Examples:
      airflow-runtime warmup
      AIRFLOW_RUNTIME_CACHE=/opt/spark-start airflow-runtime warmup
    """
    from airflow_provider_runtime.core.errors import InfrastructureError, Problem
    from airflow_provider_runtime.fast_start.home import CACHE_VARIABLE, find_quick_home
    from airflow_provider_runtime.fast_start.training import train

    home = find_quick_home(os.environ)
    if home is None:
        hint = f"pyspark and Java 17 or later must be there, and {CACHE_VARIABLE} must not be `off`"
        raise InfrastructureError(Problem("INFRA_001", "a quicker start cannot be prepared here", hint))
    if not home.is_sound:
        home.discard_archive()
        home.failure.unlink(missing_ok=True)
        click.echo("running a small project, to learn what Spark loads …", err=True)
        train(home, os.environ)
    if home.archive is None:
        hint = f"Spark starts as usual; what went wrong is in {home.failure}"
        raise InfrastructureError(Problem("INFRA_001", "Java made no archive of its classes", hint))
    click.echo(f"ready: {home.archive}, {home.archive.stat().st_size // 1_000_000} MB")
