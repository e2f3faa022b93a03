"""`airflow-runtime test`: runs scenario files."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from airflow_provider_runtime.cli.options import format_option, print_json

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_provider_runtime.scenarios.loading import LoadedScenario
    from airflow_provider_runtime.scenarios.runner import ScenarioResult, ScenarioRunner


@click.command("test")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True), metavar="PATH…")
@format_option("text", "json", "junit")
@click.option("--select", metavar="NAME", help="Run only scenarios whose name contains this.")
@click.option("--watch", is_flag=True, help="Keep Spark, and run again what a saved file concerns, until Ctrl-C.")
@click.pass_context
def command(
    context: click.Context, paths: tuple[Path, ...], output_format: str, select: str | None, watch: bool
) -> None:
    """Run the scenarios in files and folders, all in one Spark session.

    \b
    Examples:
      airflow-runtime test scenarios
      airflow-runtime test scenarios/fx.yaml --select "January"
      airflow-runtime test scenarios --format junit > report.xml
      airflow-runtime test scenarios --watch
    """
    from airflow_provider_runtime.cli.main import wants_color
    from airflow_provider_runtime.scenarios.loading import load_scenarios
    from airflow_provider_runtime.scenarios.reporting import make_json, make_junit, render_result
    from airflow_provider_runtime.scenarios.runner import ScenarioRunner

    scenarios = choose_scenarios(load_scenarios(paths), select)
    color = wants_color(sys.stdout)
    runner = ScenarioRunner(_start_spark)
    if watch:
        if output_format != "text":
            raise click.UsageError("--watch shows text; leave --format out")
        watch_scenarios(paths, select, runner, color=color)
        return
    results = []
    for scenario in scenarios:
        results.append(runner.run(scenario))
        if output_format == "text":
            click.echo(render_result(results[-1], color), color=True)
    failed = sum(result.status != "passed" for result in results)
    if output_format == "json":
        print_json(make_json(results))
    elif output_format == "junit":
        click.echo(make_junit(results))
    else:
        seconds = sum(result.seconds for result in results)
        click.echo(f"{len(results) - failed} passed, {failed} failed in {seconds:.1f} s")
    context.exit(1 if failed else 0)


def watch_scenarios(
    paths: tuple[Path, ...],
    select: str | None,
    runner: ScenarioRunner,
    *,
    color: bool,
    goes_on: Callable[[], bool] = lambda: True,
) -> None:
    """Run all scenarios, and again what a saved file concerns; Ctrl-C ends it."""
    from airflow_provider_runtime.scenarios.reporting import render_result
    from airflow_provider_runtime.scenarios.watching import Watch, watch

    def show(results: list[ScenarioResult]) -> None:
        for result in results:
            click.echo(render_result(result, color), color=True)
        failed = sum(result.status != "passed" for result in results)
        seconds = sum(result.seconds for result in results)
        outcome = f"{len(results) - failed} passed, {failed} failed in {seconds:.1f} s"
        if not results:
            outcome = "what was saved concerns no scenario"
        click.echo(
            f"{datetime.now().astimezone():%H:%M:%S} {outcome}; waiting for a file to be saved, Ctrl-C ends this"
        )

    watch(Watch(paths, select, runner), show, goes_on=goes_on)


def choose_scenarios(scenarios: list[LoadedScenario], select: str | None) -> list[LoadedScenario]:
    """Return the scenarios whose name contains the text asked for; none at all is wrong usage."""
    if not scenarios:
        raise click.UsageError("no scenario was found: a scenario is a YAML document with the key 'scenario'")
    chosen = [scenario for scenario in scenarios if select is None or select in scenario.name]
    if not chosen:
        from airflow_provider_runtime.core.rendering import escape_control
        from airflow_provider_runtime.core.suggest import list_names

        names = list_names(scenario.name for scenario in scenarios)
        raise click.UsageError(escape_control(f"no scenario's name contains '{select}'; there are: {names}"))
    return chosen


def _start_spark() -> SparkSession:
    from airflow_provider_runtime.cli.local_spark import start_spark

    # Scenarios are small: one partition is quickest, and what they show must not depend on it.
    settings = {"spark.sql.shuffle.partitions": "1", "spark.default.parallelism": "1"}
    return start_spark("local[2]", settings, is_small=True)
