"""Our errors as Airflow's: those that a retry cannot cure fail the task at once, the others are tried again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_provider_runtime.core.errors import RuntimeProviderError
from airflow_provider_runtime.core.rendering import ProblemDocument, problem_to_json, render_problems


class PassingFailure(AirflowException):
    """What may succeed when it is tried again; `problems` are for callbacks."""

    def __init__(self, error: RuntimeProviderError) -> None:
        super().__init__("\n" + render_problems(error.problems))
        self.problems = list_problems(error)


class FinalFailure(AirflowFailException):
    """What no retry can cure; `problems` are for callbacks."""

    def __init__(self, error: RuntimeProviderError) -> None:
        super().__init__("\n" + render_problems(error.problems))
        self.problems = list_problems(error)


def list_problems(error: RuntimeProviderError) -> list[ProblemDocument]:
    """Return code, message, hint and place of each problem, with the keys of `validate --format json`."""
    return [problem_to_json(problem) for problem in error.problems]


def to_airflow_error(error: RuntimeProviderError) -> AirflowException:
    """Return the Airflow exception for an error, with code, place and hint as its text."""
    # Another run at work ends some time, as a failing database does.
    may_pass = error.retryable or error.code == "RUN_001"
    return PassingFailure(error) if may_pass else FinalFailure(error)


@contextmanager
def translate_errors() -> Iterator[None]:
    """Raise our errors as Airflow's."""
    try:
        yield
    except RuntimeProviderError as error:
        # The chain is cut: the text already says everything, and a traceback of ours helps no user.
        raise to_airflow_error(error) from None
