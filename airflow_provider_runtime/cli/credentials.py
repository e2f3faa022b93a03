"""Secrets of catalog services, for runs that are resolved on the command line."""

from __future__ import annotations

from collections.abc import Mapping


def read_credential(reference: str) -> str:
    """Return the secret that `env://VARIABLE` or `airflow://CONN_ID` stands for."""
    if not reference.startswith("airflow://"):
        from airflow_provider_runtime.core.planning.resolve.resolver_service import read_env_credential

        return read_env_credential(reference)
    # Airflow takes a second to import; only those who need one of its connections wait for it.
    from airflow_provider_runtime.hooks.credentials import read_secret

    return read_secret(reference)


def read_properties(reference: str) -> Mapping[str, str]:
    """Return what the credential of a table's catalog or store stands for."""
    if not reference.startswith("airflow://"):
        from airflow_provider_runtime.core.tables.addresses import read_env_properties

        return read_env_properties(reference)
    from airflow_provider_runtime.hooks import credentials

    return credentials.read_properties(reference)
