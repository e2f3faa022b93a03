"""Secrets: read right before they are used.

A `credential_ref` names an environment variable of the driver. `env://NAME` is that variable; `airflow://CONN_ID` is
the variable `credential_variable` gives, which the submitting process fills. The value is a password, or a JSON
object with `user`, `password` and further options.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from spark_jobs.errors import JobError
from spark_jobs.redaction import hide

_NAMES_SHOWN = frozenset({"user", "username", "login", "driver", "url", "schema", "port", "host"})
# What follows, in a URL, a name that says so, and between a user and the host.
_SECRETS_IN_URL = (
    re.compile(r"(?:password|passwd|passphrase|pwd|secret|token|key)\s*=\s*([^&;,)\s]+)", re.IGNORECASE),
    re.compile(r"//[^/:@?;\s]*:([^/?;\s]+)@"),
    re.compile(r":thin:[^/@\s]*/([^/?;\s]+)@", re.IGNORECASE),
)


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
    try:
        found = json.loads(text) if text.lstrip().startswith("{") else {"password": text}
        json.dumps(found, ensure_ascii=False).encode()
        values = {name: str(value) for name, value in found.items() if value is not None}
    except UnicodeEncodeError:
        message = f"credential {ref} is not valid UTF-8"
        raise JobError("CATALOG_004", message, hint="set it in UTF-8, without halves of surrogate pairs") from None
    except (ValueError, RecursionError):
        message = f"credential {ref} begins like a JSON object and is not one"
        raise JobError(
            "CATALOG_004", message, hint='write {"user": "…", "password": "…"} or the password alone'
        ) from None
    for name, value in found.items():
        if isinstance(value, Mapping | list):
            hide(values[name])
    _hide_values(found)
    user = values.pop("user", None) or values.pop("login", None) or values.pop("username", None)
    password = values.pop("password", None)
    if password is not None:
        login = f"{user or ''}:{password}".encode()
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            hide(encode(login).decode().rstrip("="))
    return Credentials(user, password, values)


def _hide_values(found: Mapping[str, object]) -> None:
    """Keep all values secret but those of names that are shown, also inside other values."""
    waiting = list(found.items())
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, Mapping | list):
            waiting.extend(value.items() if isinstance(value, Mapping) else ((name, each) for each in value))
        elif name == "url":
            for secret in [found for pattern in _SECRETS_IN_URL for found in pattern.findall(str(value))]:
                hide(secret)
                hide(unquote(secret))
        elif name not in _NAMES_SHOWN and value is not None and not isinstance(value, bool):
            hide(str(value))


def read_options(ref: str | None) -> dict[str, str]:
    """Return what a reference stands for as options of a Spark reader or writer."""
    found = read_credentials(ref)
    named = {"user": found.user, "password": found.password}
    return {**found.options, **{name: value for name, value in named.items() if value is not None}}
