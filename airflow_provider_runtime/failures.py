"""Our errors as Airflow's: those that a retry cannot cure fail the task at once, the others are tried again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from airflow_provider_runtime.core.errors import (
    Place,
    Problem,
    RuntimeProviderError,
    get_error_class,
)
from airflow_provider_runtime.core.rendering import render_problems
from spark_jobs.contract.codes import find_code


def to_airflow_error(error: RuntimeProviderError) -> AirflowException:
    """Return the Airflow exception for an error, with code, place and hint as its text."""
    text = "\n" + render_problems(error.problems)
    return AirflowException(text) if error.retryable else AirflowFailException(text)


@contextmanager
def translate_errors() -> Iterator[None]:
    """Raise our errors as Airflow's."""
    try:
        yield
    except RuntimeProviderError as error:
        # The chain is cut: the text already says everything, and a traceback of ours helps no user.
        raise to_airflow_error(error) from None


def read_job_error(document: Mapping[str, Any]) -> RuntimeProviderError:
    """Return the error that a job's report tells of."""
    code = find_code(document.get("code")) or "INFRA_001"
    problem = Problem(
        code=code,
        message=str(document.get("message") or "the job failed without saying why"),
        hint=document.get("hint"),
        location=Place(
            file=document.get("file"),
            line=int(document.get("line") or 1),
            column=int(document.get("column") or 1),
            project=document.get("project"),
            operation_seq=document.get("operation_seq"),
            field=document.get("field"),
        ),
    )
    return get_error_class(code)(problem)
