"""The command group: help, unknown commands, versions, errors, colours."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest

from airflow_provider_runtime import __version__
from airflow_provider_runtime.cli import main as cli
from airflow_provider_runtime.core.errors import DefinitionError, Place, Problem


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        cli.main(list(arguments))
    assert isinstance(caught.value.code, int)
    return caught.value.code


def test_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--version") == 0
    assert capsys.readouterr().out == f"airflow-runtime {__version__}\n"


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--help") == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in cli.COMMANDS)


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_help_of_every_command_has_examples_of_its_own(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(name, "--help") == 0
    shown = capsys.readouterr().out
    assert f"airflow-runtime {name}" in shown.partition("Example")[2]


def test_shell_completes_commands_and_options(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_AIRFLOW_RUNTIME_COMPLETE", "bash_complete")
    for words, place, expected in (
        ("airflow-runtime ", 1, "plain,init"),
        ("airflow-runtime run --dr", 2, "plain,--dry-run"),
    ):
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(place))
        run()
        assert expected in capsys.readouterr().out.splitlines()


def test_unknown_command_exits_2_with_the_nearest_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("valdate") == 2
    assert "did you mean 'validate'?" in capsys.readouterr().err


def test_unknown_option_exits_2() -> None:
    assert run("schema", "--nonsense") == 2


def test_output_on_a_full_disk_exits_1_without_traceback() -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no /dev/full here")
    with full.open("w") as stream:
        result = subprocess.run(
            [sys.executable, "-m", "airflow_provider_runtime.cli.main", "schema"],
            stdout=stream, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert result.returncode == 1
    assert result.stderr == "airflow-runtime: No space left on device\n"


def test_error_of_the_package_exits_1_without_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = Problem("CATALOG_002", "unknown key 'x'", "remove it", Place(file="a.yaml", line=3))

    @click.command("schema")
    def failing() -> None:
        raise DefinitionError(problem)

    monkeypatch.setattr("airflow_provider_runtime.cli.schema.command", failing)
    assert run("schema") == 1
    shown = capsys.readouterr().err
    assert "CATALOG_002 unknown key 'x'" in shown
    assert "a.yaml:3:1" in shown
    assert "Traceback" not in shown


@pytest.mark.parametrize(("setting", "expected"), [("", True), ("1", False)])
def test_color_wanted_on_terminals_unless_no_color(
    setting: str, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal:
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("NO_COLOR", setting)
    monkeypatch.setenv("TERM", "xterm")
    assert cli.wants_color(Terminal()) is expected
    assert cli.wants_color(object()) is False


def test_validate_path_imports_nothing_heavy() -> None:
    script = (
        "import sys; import airflow_provider_runtime.cli.main, airflow_provider_runtime.cli.validate;"
        "import airflow_provider_runtime.core.planning.check.validation;"
        "print([m for m in ('airflow', 'pyspark', 'sqlalchemy', 'rich', 'alembic', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "arguments",
    [
        ("resolve", "--project", "p", "--period", "x", "--as-of", "a\nFORGED\x1b"),
        ("resolve", "--project", "p", "--period", "x", "--timestamp", "a\nFORGED\u202e"),
        ("a\nFORGED",),
        ("runs", "--format", "a\nFORGED"),
    ],
)
def test_wrong_usage_is_reported_without_forged_lines(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == 2
    lines = capsys.readouterr().err.split("\n")
    assert all(line.isprintable() and not line.startswith("FORGED") for line in lines)
