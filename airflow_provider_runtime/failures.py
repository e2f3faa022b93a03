"""Our errors as Airflow's: those that a retry cannot cure fail the task at once, the others are tried again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_provider_runtime.core.errors import RuntimeProviderError
from airflow_provider_runtime.core.rendering import render_problems


def to_airflow_error(error: RuntimeProviderError) -> AirflowException:
    """Return the Airflow exception for an error, with code, place and hint as its text."""
    text = "\n" + render_problems(error.problems)
    # Another run at work ends some time, as a failing database does.
    may_pass = error.retryable or error.code == "RUN_001"
    return AirflowException(text) if may_pass else AirflowFailException(text)


@contextmanager
def translate_errors() -> Iterator[None]:
    """Raise our errors as Airflow's."""
    try:
        yield
    except RuntimeProviderError as error:
        # The chain is cut: the text already says everything, and a traceback of ours helps no user.
        raise to_airflow_error(error) from None
