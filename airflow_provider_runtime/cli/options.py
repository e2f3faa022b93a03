"""Options that several subcommands share, and the printing of problems."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click

from airflow_provider_runtime.cli.completion import complete_periods, complete_projects
from airflow_provider_runtime.cli.parameters import RegistryUrl, Setting
from airflow_provider_runtime.core.errors import Problem

Function = TypeVar("Function", bound=Callable[..., Any])
DEFAULT_CATALOG = "./catalog"


def catalog_option(function: Function) -> Function:
    """Add --catalog, a Path."""
    return click.option(
        "--catalog",
        type=click.Path(path_type=Path),
        default=DEFAULT_CATALOG,
        show_default=True,
        help="Folder of YAML definitions.",
    )(function)


def project_option(*, required: bool = False) -> Callable[[Function], Function]:
    """Add --project, an id or a name."""
    return click.option(
        "--project", metavar="P", required=required, shell_complete=complete_projects, help="Id or name of a project."
    )


def period_option(text: str, *, metavar: str = "X", required: bool = False) -> Callable[[Function], Function]:
    """Add --period, a period of the project or, as X..Y, several."""
    return click.option("--period", metavar=metavar, required=required, shell_complete=complete_periods, help=text)


def registry_option(*, shown: str = ".runtime/registry.db beside the catalog") -> Callable[[Function], Function]:
    """Add --registry, an SQLAlchemy URL."""
    return click.option(
        "--registry",
        metavar="URL",
        type=RegistryUrl(),
        envvar="AIRFLOW_RUNTIME_REGISTRY",
        help=f"SQLAlchemy URL of the registry. [default: {shown}]",
    )


def spark_options(function: Function) -> Function:
    """Add --master and --conf."""
    master = click.option(
        "--master", metavar="M", default="local[*]", show_default=True, help="Spark master, sc://HOST:PORT, or warm."
    )
    conf = click.option(
        "--conf", metavar="K=V", type=Setting(), multiple=True, help="Setting of Spark; may be repeated."
    )
    return master(conf(function))


def format_option(*choices: str) -> Callable[[Function], Function]:
    """Add --format as `output_format`; the first choice is the default."""
    return click.option(
        "--format",
        "output_format",
        type=click.Choice(choices),
        default=choices[0],
        show_default=True,
        help="How to print the result.",
    )


def print_problems(
    problems: Iterable[Problem], output_format: str, catalog: Path | None = None, *, strict: bool = False
) -> None:
    """Print problems to standard output: as text, as JSON with `valid`, or as GitHub annotations."""
    from airflow_provider_runtime.cli.main import wants_color
    from airflow_provider_runtime.core.rendering import problem_to_json, render_github, render_problems, sort_problems

    ordered = sort_problems(problems)
    if output_format == "json":
        valid = not any(strict or problem.severity == "error" for problem in ordered)
        print_json({"valid": valid, "errors": [problem_to_json(problem) for problem in ordered]})
    elif output_format == "github":
        prefix = "" if catalog is None else os.path.relpath(catalog)
        for problem in ordered:
            click.echo(render_github(problem, prefix))
    elif ordered:
        click.echo(render_problems(ordered, wants_color(sys.stdout)), color=True)


def print_json(document: object) -> None:
    """Print a document as JSON and nothing else."""
    click.echo(json.dumps(document, indent=2, ensure_ascii=True))
