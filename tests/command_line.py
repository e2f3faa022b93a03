"""The command line: as a user types it, in a process, or inside this one, on the Spark of all tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
from click.testing import CliRunner, Result

from airflow_provider_runtime.cli.main import main

BIN = Path(sys.executable).parent


def call(folder: Path, *words: str, status: int = 0, **environment: str) -> str:
    """Run a command in a folder, and return all that it said."""
    done = subprocess.run(
        [str(BIN / words[0]), *words[1:]],
        cwd=folder,
        env={**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == status, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout + done.stderr


@click.command(context_settings={"ignore_unknown_options": True, "help_option_names": []})
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def _command_line(words: tuple[str, ...]) -> None:
    main(list(words))


def invoke(*words: object) -> Result:
    """Run `airflow-runtime` with these words in this process, with what it says of errors."""
    return CliRunner().invoke(_command_line, [*map(str, words)])
