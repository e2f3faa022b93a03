"""Secrets: read right before they are used.

A `credential_ref` names an environment variable of the driver. `env://NAME` is that variable; `airflow://CONN_ID` is
the variable `credential_variable` gives, which the submitting process fills. The value is a password, or a JSON
object with `user`, `password` and further options.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from spark_jobs.errors import JobError
from spark_jobs.redaction import hide

_NAMES_SHOWN = frozenset({"user", "username", "login", "driver", "url", "schema", "port", "host"})


@dataclass(frozen=True, slots=True)
class Credentials:
    """Who a source or a destination is asked as."""

    user: str | None = None
    password: str | None = field(default=None, repr=False)
    options: Mapping[str, str] = field(default_factory=dict, repr=False)


def credential_variable(ref: str) -> str:
    """Return the name of the environment variable that holds what a reference stands for."""
    if ref.startswith("env://"):
        return ref.removeprefix("env://")
    return "RUNTIME_CREDENTIAL_" + hashlib.sha256(ref.encode()).hexdigest()[:16].upper()


def read_credentials(ref: str | None, environment: Mapping[str, str] | None = None) -> Credentials:
    """Return what a reference stands for; nothing when there is none."""
    if ref is None:
        return Credentials()
    text = (os.environ if environment is None else environment).get(credential_variable(ref))
    if text is None:
        raise JobError(
            "CATALOG_004",
            f"credential {ref} is not known to the job",
            hint=f"set the environment variable {credential_variable(ref)} of the driver",
        )
    hide(text)
    return _parse(ref, text)


def _parse(ref: str, text: str) -> Credentials:
    if not text.lstrip().startswith("{"):
        return Credentials(password=text)
    try:
        values = {str(name): str(value) for name, value in json.loads(text).items() if value is not None}
    except ValueError:
        message = f"credential {ref} begins like a JSON object and is none"
        raise JobError(
            "CATALOG_004", message, hint='write {"user": "…", "password": "…"} or the password alone'
        ) from None
    for name, value in values.items():
        if name not in _NAMES_SHOWN:
            hide(value)
    user = values.pop("user", None) or values.pop("login", None) or values.pop("username", None)
    return Credentials(user, values.pop("password", None), values)


def read_options(ref: str | None) -> dict[str, str]:
    """Return what a reference stands for as options of a Spark reader or writer."""
    found = read_credentials(ref)
    named = {"user": found.user, "password": found.password}
    return {**found.options, **{name: value for name, value in named.items() if value is not None}}
