"""Credentials of datasources, looked up right before they are used and handed on in the environment alone."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress

from airflow.providers.common.compat.sdk import AirflowNotFoundException, BaseHook

from airflow_provider_runtime.core.errors import DefinitionError, Problem
from spark_jobs.credentials import credential_variable, read_credentials
from spark_jobs.errors import JobError

AIRFLOW_PREFIX = "airflow://"
ENV_PREFIX = "env://"


def make_environment(references: Sequence[str]) -> dict[str, str]:
    """Return the variables that hold the Airflow connections among the references."""
    return {
        credential_variable(reference): read_airflow_credential(reference)
        for reference in references
        if reference.startswith(AIRFLOW_PREFIX)
    }


def hide_credentials(references: Sequence[str], variables: Mapping[str, str]) -> None:
    """Keep what the job reads for these references out of the lines of its log, in all spellings that it knows."""
    for reference in references:
        with suppress(JobError):
            read_credentials(reference, {**os.environ, **variables})


def read_airflow_credential(reference: str) -> str:
    """Return what a driver reads of a connection: JSON with user, password and further options."""
    return json.dumps(_read_connection(reference))


def read_properties(reference: str) -> dict[str, str]:
    """Return what the credential of a table's catalog or store stands for: user, password and further properties."""
    if reference.startswith(ENV_PREFIX):
        from airflow_provider_runtime.core.tables.addresses import read_env_properties

        return read_env_properties(reference)
    values = _read_connection(reference)
    connection = BaseHook.get_connection(reference.removeprefix(AIRFLOW_PREFIX))
    if connection.conn_type == "iceberg" and connection.host:
        # The provider for Iceberg keeps the address of a REST catalog there, and a client's id and secret as its login.
        values.setdefault("uri", connection.host)
        values.setdefault("type", "rest")
    return values


def read_secret(reference: str) -> str:
    """Return the secret that a resolver's `auth` stands for: a variable, or a connection's login and password."""
    if reference.startswith(ENV_PREFIX):
        value = os.environ.get(reference.removeprefix(ENV_PREFIX))
        if value is None:
            hint = "set it where the task runs"
            raise DefinitionError(Problem("CATALOG_004", f"the variable of '{reference}' is not set", hint))
        return value
    values = _read_connection(reference)
    if "password" not in values:
        raise DefinitionError(Problem("CATALOG_004", f"the connection of '{reference}' has no password", "give it one"))
    named = {name: values[name] for name in ("user", "password") if name in values}
    return json.dumps(named) if "user" in named else values["password"]


def _read_connection(reference: str) -> dict[str, str]:
    conn_id = reference.removeprefix(AIRFLOW_PREFIX)
    try:
        connection = BaseHook.get_connection(conn_id)
    except AirflowNotFoundException:
        message = f"connection '{conn_id}' of the credential '{reference}' is not defined"
        raise DefinitionError(Problem("CATALOG_004", message, "add the connection in Airflow")) from None
    values: dict[str, str] = {
        key: value for key, value in connection.extra_dejson.items() if isinstance(value, str) and value
    }
    if connection.login:
        values["user"] = connection.login
    if connection.password:
        values["password"] = connection.password
    _mask(values)
    return values


def _mask(values: Mapping[str, str]) -> None:
    from airflow.sdk.log import mask_secret

    for key, value in values.items():
        if key != "user":
            mask_secret(value)
