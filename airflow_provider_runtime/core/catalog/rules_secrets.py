"""Datasources and locations written in place: no definition holds a secret, and a credential can work."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import unquote

from airflow_provider_runtime.core.catalog.definition import Definition, Path
from airflow_provider_runtime.core.catalog.rules_options import find_option_faults
from airflow_provider_runtime.core.errors import Place, Problem
from airflow_provider_runtime.core.model.base import Model
from airflow_provider_runtime.core.model.datasource import Datasource

SECRET_PART = re.compile(r"pass(?:word|wd|phrase)|pwd|secret|token")
# The path of a key is not a secret, nor is a word such as 'monkey'.
ENDS_WITH_KEY = re.compile(r".*(?<!ssl)(?<!primary)(?<!mon)key", re.DOTALL)
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# Of each word only the first place is tried that a login can begin at, so that no text takes long.
URL_LOGIN = re.compile(
    r"(?<!\S)(?>\S*?//[^/@\s?#:]*:)[^@\s]*+@|(?<!\S)(?>\S*?(?i:jdbc:oracle):[A-Za-z0-9]+:[^@/\s:]+/)[^@\s]++@"
)
IN_URL = re.compile(r"(^|[?&;,(\s])([^=?&;,()\s]+)=[^&;)\s]")
SIGNATURE = re.compile(r"(?:.*[_.-])?sig(?:nature)?", re.DOTALL)
CREDENTIAL = re.compile(r"airflow://[A-Za-z0-9_.\-]+|env://[A-Za-z_][A-Za-z0-9_]*")
FORMAT_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.$\-]*")
HINT = "name a connection or a variable in credential_ref: airflow://CONN_ID or env://VARIABLE"


def check_datasource(definition: Definition[Datasource]) -> list[Problem]:
    """Return what is wrong with a datasource."""
    model = definition.model
    problems = check_options(definition, ("options",), model.options, model.type)
    problems += check_url(definition, ("path_prefix",), model.path_prefix)
    problems += check_credential(definition, ("credential_ref",), model.credential_ref)
    problems += check_format(definition, ("type",), model.type)
    return problems


def check_format(definition: Definition[Model], path: Path, name: str) -> list[Problem]:
    """Return a problem when a format's name cannot be one of Spark's."""
    if FORMAT_NAME.fullmatch(name):
        return []
    shown = "this" if holds_secret(name) else f"'{name[:60]}'"
    message = f"{shown} is not the name of a format"
    hint = "parquet, csv, json, orc, jdbc, iceberg, delta, or a Spark format name"
    return [Problem("CATALOG_002", message, hint, definition.locate(*path))]


def check_options(
    definition: Definition[Model], path: Path, options: Mapping[str, str], kind: str = ""
) -> list[Problem]:
    """Return a problem for each option that is a secret by its name, holds one in a URL, or may not be."""
    problems = [
        Problem("CATALOG_002", message, hint, hide_line(definition, *path, name, key=True))
        for name, message, hint in find_option_faults(options, kind, _is_secret)
    ]
    for name, value in options.items():
        word = find_secret_word(name)
        if word is not None:
            message = f"option '{name}' may hold a secret: '{word}' is in its name"
            problems.append(Problem("CATALOG_002", message, HINT, hide_line(definition, *path, name, key=True)))
        else:
            problems += check_url(definition, (*path, name), value)
    return problems


def find_secret_word(name: str) -> str | None:
    """Return the word of an option's name that says it is a secret."""
    plain = unquote(name).strip()
    found = SECRET_PART.search(plain.lower())
    if found is not None:
        return found[0]
    is_key = ENDS_WITH_KEY.fullmatch(plain.lower()) or "key" in (word.lower() for word in WORD.findall(plain))
    return "key" if is_key else None


def holds_secret(value: str) -> bool:
    """Return whether a value, such as a URL, carries a login, a password, a key or a signature."""
    return URL_LOGIN.search(value) is not None or any(
        _is_secret_in_url(unquote(name).lower(), before) for before, name in IN_URL.findall(value)
    )


def _is_secret(name: str, value: str) -> bool:
    """Return whether an option or a property of a URL is a secret, or the URL holds one that looks like a property."""
    is_named = find_secret_word(name) is not None or _is_secret_in_url(unquote(name).lower(), "?")
    return is_named or holds_secret(value)


def _is_secret_in_url(name: str, before: str) -> bool:
    if SECRET_PART.search(name):
        return True
    # Elsewhere `key=` is a part of a path.
    is_parameter = before in ("?", "&", ";")
    return is_parameter and (ENDS_WITH_KEY.fullmatch(name) or SIGNATURE.fullmatch(name)) is not None


def hide_logins(problem: Problem) -> Problem:
    """Return a problem whose message repeats no URL's user and password."""
    return replace(problem, message=URL_LOGIN.sub("…@", problem.message))


def check_url(definition: Definition[Model], path: Path, value: str | None) -> list[Problem]:
    """Return a problem when a URL carries a password."""
    if value is None or not holds_secret(value):
        return []
    return [Problem("CATALOG_002", "url contains a password", HINT, hide_line(definition, *path))]


def check_credential(definition: Definition[Model], path: Path, value: str | None) -> list[Problem]:
    """Return a problem when a credential names neither a connection nor a variable; its text is not repeated."""
    if value is None or CREDENTIAL.fullmatch(value):
        return []
    message = "credential cannot work: it is neither airflow://CONN_ID nor env://VARIABLE"
    return [Problem("CATALOG_004", message, "never write the secret itself", hide_line(definition, *path))]


def hide_line(definition: Definition[Model], *path: str | int, key: bool = False) -> Place:
    """Return a place without its source line, which may show a secret."""
    return replace(definition.locate(*path, key=key), source_line=None)
