"""`airflow-runtime spark`: a Spark that stays warm for the command line and for Airflow's backfills."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import click

from airflow_provider_runtime.cli.parameters import Setting
from airflow_provider_runtime.cli.warm_spark import (
    HOST,
    PORT,
    find_warm_spark,
    get_warm_spark,
    start_warm_spark,
    stop_warm_spark,
)


@click.group("spark")
def command() -> None:
    """Keep a Spark Connect server on this machine, so that runs need not start Spark.

    It listens on this machine only and asks for a token, which is kept for your user alone.

    \b
    Examples:
      airflow-runtime spark start
      airflow-runtime run --project fx-conversion --period 2026-01 --master warm
      airflow connections add warm_spark --conn-json "$(airflow-runtime spark connection)"
      airflow-runtime spark stop
    """


@command.command("start")
@click.option("--master", metavar="M", default="local[*]", show_default=True, help="Spark master of the server.")
@click.option("--port", type=click.IntRange(1, 65535), default=PORT, show_default=True, help="Port on this machine.")
@click.option("--conf", metavar="K=V", type=Setting(), multiple=True, help="Setting of Spark; may be repeated.")
def start(master: str, port: int, conf: tuple[tuple[str, str], ...]) -> None:
    """Start the server, and wait until it answers."""
    running = find_warm_spark()
    if running is not None:
        click.echo(f"it runs already, on port {running.port}")
        return
    click.echo("starting Spark …", err=True)
    server = start_warm_spark(master, port, dict(conf))
    click.echo(f"Spark is warm, on port {server.port}: use --master warm")


@command.command("stop")
def stop() -> None:
    """Stop the server, and the queries that it is running."""
    running = find_warm_spark()
    if running is None:
        click.echo("no warm Spark is running")
        return
    stop_warm_spark(running)
    click.echo("stopped")


@command.command("status")
@click.pass_context
def status(context: click.Context) -> None:
    """Return whether the server runs; exit status 1 when it does not."""
    running = find_warm_spark()
    if running is None:
        click.echo("no warm Spark is running")
        context.exit(1)
    since = datetime.fromtimestamp(running.started_at, UTC)
    click.echo(
        f"running since {since:%Y-%m-%d %H:%M} UTC on port {running.port}, master {running.master},"
        f" process {running.process}; its log: {running.log}"
    )


@command.command("connection")
def connection() -> None:
    """Print the server as an Airflow connection; it holds the token."""
    server = get_warm_spark()
    described = {"conn_type": "spark_connect", "host": HOST, "port": server.port, "password": server.token}
    click.echo(json.dumps(described))
