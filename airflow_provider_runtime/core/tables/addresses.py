"""From a place in a plan, and the credential that it refers to, to the address of a table."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from urllib.parse import quote

from airflow_provider_runtime.core.errors import DefinitionError, Problem
from airflow_provider_runtime.core.tables.ports import TableAddress
from spark_jobs.contract.addresses import has_scheme
from spark_jobs.contract.operations import Destination
from spark_jobs.contract.tables import Location

PropertyReader = Callable[[str], Mapping[str, str]]
"""Returns what a credential_ref stands for: user, password and further properties."""
CATALOG_NAME = "name"
_DATABASE = re.compile(r"(?P<scheme>[a-z0-9]+(?:\+[a-z0-9_]+)?://)(?:[^@/]*@)?(?P<rest>.*)", re.IGNORECASE)
_S3 = re.compile(r"s3n?://", re.IGNORECASE)
_LOGIN = ("user", "login", "username", "password")


def read_env_properties(reference: str) -> dict[str, str]:
    """Return what `env://VARIABLE` holds: a password, or a JSON object with user, password and further properties."""
    variable = reference.removeprefix("env://")
    text = os.environ.get(variable)
    if text is None:
        message = f"the variable of '{reference}' is not set"
        raise DefinitionError(Problem("CATALOG_004", message, f"set {variable} where the run is submitted"))
    if not text.lstrip().startswith("{"):
        return {"password": text}
    try:
        found = json.loads(text)
    except ValueError:
        message = f"the variable of '{reference}' begins like a JSON object and is not one"
        hint = 'write {"user": "…", "password": "…"} or the password alone'
        raise DefinitionError(Problem("CATALOG_004", message, hint)) from None
    return {name: str(value) for name, value in found.items() if value is not None}


def make_address(place: Location | Destination, read_properties: PropertyReader | None = None) -> TableAddress:
    """Return the address of the table that a location or a destination means."""
    found = dict(read_properties(place.credential_ref)) if place.credential_ref and read_properties else {}
    options = {name: value for name, value in place.options.items() if name != CATALOG_NAME}
    name = place.table or ""
    if place.format == "delta":
        display = place.display if isinstance(place, Destination) else place.uri
        return TableAddress("delta", place.uri, display, properties={**options, **_drop_login(found)})
    catalog = place.options.get(CATALOG_NAME, "default")
    properties = _log_in({**found, **options}, found)
    return TableAddress("iceberg", name, f"{catalog}/{name}", catalog, properties)


def _drop_login(found: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in found.items() if name not in _LOGIN}


def _log_in(properties: Mapping[str, str], found: Mapping[str, str]) -> dict[str, str]:
    """Return the properties of an Iceberg catalog, with user and password where its kind takes them."""
    plain = _drop_login(properties)
    user = next((found[name] for name in _LOGIN[:3] if found.get(name)), None)
    password = found.get("password")
    if password is None:
        return plain
    uri = plain.get("uri", "")
    database = _DATABASE.fullmatch(uri)
    if database and not uri.lower().startswith("http"):
        login = f"{quote(user, safe='')}:{quote(password, safe='')}" if user else f":{quote(password, safe='')}"
        known = re.match(r"[^:]+://([^@/:]+)@", uri)
        if known and not user:
            login = f"{known[1]}:{quote(password, safe='')}"
        return {**plain, "uri": f"{database['scheme']}{login}@{database['rest']}"}
    return {**plain, "credential": f"{user}:{password}"} if user else {**plain, "token": password}


def to_job_uri(uri: str) -> str:
    """Return a file's address as Hadoop has it: without a scheme it is local, and S3 is s3a."""
    if not has_scheme(uri):
        return f"file://{uri}"
    return _S3.sub("s3a://", re.sub(r"^file:/*", "file:///", uri), count=1)
