"""The command `airflow-runtime`: finds a subcommand's module when it is called, and turns errors into exit codes."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib import import_module

import click

from airflow_provider_runtime import __version__
from airflow_provider_runtime.core.errors import RuntimeProviderError

COMMANDS: dict[str, str] = {
    "init": "Make a working catalog to start from.",
    "validate": "Check definitions, without Spark and without data.",
    "explain": "Show each operation's Spark SQL, schema and lineage.",
    "resolve": "Pin versions and locations into a snapshot.",
    "status": "Show the last periods of each project with their states.",
    "plan": "Show what is missing or stale, why, and what follows from it.",
    "run": "Run a project for one period or several.",
    "publish": "Publish what a run has staged.",
    "discard": "Discard what a run has staged.",
    "test": "Run scenario files.",
    "periods": "Show periods; close, lock or reopen them.",
    "checks": "Show the results of checks; override one.",
    "runs": "List the runs that the registry knows.",
    "datasets": "List the registered datasets and their versions.",
    "spark": "Keep a warm Spark for the command line and backfills.",
    "warmup": "Prepare a quicker start of Spark on this machine.",
    "diff": "Show what would change for readers if a run were published.",
    "why": "Show the history of a row: each step that made it what it is.",
    "evidence": "Write the evidence of a period as one HTML file.",
    "schema": "Print JSON Schema for the YAML documents.",
}
"""Every subcommand with its one-line help; the module `cli.<name>` holds it as `command`."""


class LazyGroup(click.Group):
    """A group that imports a subcommand only when that one is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the subcommands in the order of a project's life."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import a subcommand."""
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f"airflow_provider_runtime.cli.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the subcommand; an unknown one gets the nearest name as a hint."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from airflow_provider_runtime.core.suggest import suggest

            raise click.UsageError(f"no such command '{args[0]}'; {suggest(args[0], COMMANDS)}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the list of subcommands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="airflow-runtime", message="%(prog)s %(version)s")
def command() -> None:
    """Declarative, period-scoped computations on Spark.

    \b
    Examples:
      airflow-runtime init books && cd books
      airflow-runtime validate
      airflow-runtime run --project fx-conversion --period 2026-01

    Exit status: 0 fine, 1 the definitions or the run failed, 2 wrong usage.
    Completion: eval "$(_AIRFLOW_RUNTIME_COMPLETE=bash_source airflow-runtime)" (zsh_source, fish_source).
    """


def wants_color(stream: object) -> bool:
    """Whether to colour what goes to a stream: terminals only, and never with NO_COLOR set."""
    if os.environ.get("NO_COLOR"):
        return False
    is_terminal = getattr(stream, "isatty", None)
    return bool(is_terminal and is_terminal()) and os.environ.get("TERM") != "dumb"


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its status."""
    try:
        status = command.main(arguments, prog_name="airflow-runtime", standalone_mode=False)
    except RuntimeProviderError as error:
        _print_error(error)
        status = 1
    except click.Abort:
        click.echo("aborted", err=True)
        status = 130
    except click.ClickException as error:
        from airflow_provider_runtime.core.rendering import escape_control

        # It repeats what was written, which may be meant to look like lines of ours.
        error.message = escape_control(error.message)  # type: ignore[misc]
        error.show()
        status = error.exit_code
    except BrokenPipeError:
        # The reader of our output is gone; a second failure when Python flushes at exit would print a traceback.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 1
    except KeyboardInterrupt:
        status = 130
    except (OSError, UnicodeEncodeError) as error:
        status = _give_up(error)
    sys.exit(status if isinstance(status, int) else 0)


def _give_up(error: OSError | UnicodeEncodeError) -> int:
    """Say what the system refused, such as writing to a full disk, without a traceback."""
    reason = error.strerror or str(error) if isinstance(error, OSError) else str(error)
    name = f" ({error.filename})" if isinstance(error, OSError) and error.filename else ""
    with suppress(OSError):
        sys.stderr.write(f"airflow-runtime: {reason}{name}\n".encode("ascii", "backslashreplace").decode("ascii"))
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1


def _print_error(error: RuntimeProviderError) -> None:
    from airflow_provider_runtime.core.rendering import render_problems

    click.echo(render_problems(error.problems, wants_color(sys.stderr)), err=True, color=True)


if __name__ == "__main__":
    main()
