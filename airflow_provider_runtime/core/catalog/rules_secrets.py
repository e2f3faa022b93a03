"""Datasources and locations written in place: no secret stands in a definition, and a credential can work."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from airflow_provider_runtime.core.catalog.definition import Definition, Path
from airflow_provider_runtime.core.errors import Location, Problem
from airflow_provider_runtime.core.model.base import Model
from airflow_provider_runtime.core.model.datasource import Datasource

SECRET_WORDS = frozenset({"password", "secret", "token", "key"})
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
URL_LOGIN = re.compile(r"//[^/@\s?#:]*:(?![0-9]+(?:[/?#]|$))[^@\s]*@|jdbc:oracle:[a-z]+:[^@/\s]+/[^@\s]+@")
URL_SECRET = re.compile(
    r"(?:^|[?&;,(\s])(?:[\w.-]*[_.-])?(?:password|secret|token|passwd|pwd)=[^&;)\s]"
    r"|[?&;](?:[\w.-]*[_.-])?(?:(?:api|access|account)?key|sig|signature)=[^&;)\s]",
    re.IGNORECASE,
)
CREDENTIAL = re.compile(r"airflow://[A-Za-z0-9_.\-]+|env://[A-Za-z_][A-Za-z0-9_]*")
FORMAT_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.$\-]*")
HINT = "name a connection or a variable in credential_ref: airflow://CONN_ID or env://VARIABLE"


def check_datasource(definition: Definition[Datasource]) -> list[Problem]:
    """Return what is wrong with a datasource."""
    model = definition.model
    problems = check_options(definition, ("options",), model.options)
    problems += check_url(definition, ("path_prefix",), model.path_prefix)
    problems += check_credential(definition, ("credential_ref",), model.credential_ref)
    problems += check_format(definition, ("type",), model.type)
    return problems


def check_format(definition: Definition[Model], path: Path, name: str) -> list[Problem]:
    """Return a problem when a format's name cannot be one of Spark's."""
    if FORMAT_NAME.fullmatch(name):
        return []
    message = f"'{name[:60]}' is not the name of a format"
    hint = "parquet, csv, json, orc, jdbc, or a Spark format name"
    return [Problem("CATALOG_002", message, hint, definition.locate(*path))]


def check_options(definition: Definition[Model], path: Path, options: Mapping[str, str]) -> list[Problem]:
    """Return a problem for each option that is a secret by its name, or holds one in a URL."""
    problems: list[Problem] = []
    for name, value in options.items():
        word = find_secret_word(name)
        if word is not None:
            message = f"option '{name}' may hold a secret: '{word}' is a word of its name"
            problems.append(Problem("CATALOG_002", message, HINT, hide_line(definition, *path, name, key=True)))
        else:
            problems += check_url(definition, (*path, name), value)
    return problems


def find_secret_word(name: str) -> str | None:
    """Return the word of an option's name that says it is a secret."""
    return next((word.lower() for word in WORD.findall(name) if word.lower() in SECRET_WORDS), None)


def check_url(definition: Definition[Model], path: Path, value: str | None) -> list[Problem]:
    """Return a problem when a URL carries a password."""
    if value is None or not (URL_LOGIN.search(value) or URL_SECRET.search(value)):
        return []
    return [Problem("CATALOG_002", "url contains a password", HINT, hide_line(definition, *path))]


def check_credential(definition: Definition[Model], path: Path, value: str | None) -> list[Problem]:
    """Return a problem when a credential names neither a connection nor a variable; its text is not repeated."""
    if value is None or CREDENTIAL.fullmatch(value):
        return []
    message = "credential cannot work: it is neither airflow://CONN_ID nor env://VARIABLE"
    return [Problem("CATALOG_004", message, "never write the secret itself", hide_line(definition, *path))]


def hide_line(definition: Definition[Model], *path: str | int, key: bool = False) -> Location:
    """Return a place without its source line, which may show a secret."""
    return replace(definition.locate(*path, key=key), source_line=None)
