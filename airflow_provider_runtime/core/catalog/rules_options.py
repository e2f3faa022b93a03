"""Options of Spark's readers and writers: none given twice, none that moves files, runs code, or reads loosely."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from spark_jobs.contract.jdbc_properties import find_refused_properties, is_permitted
from spark_jobs.contract.options import NO_FILE_LEFT_OUT, STRICT, get_option, moves_files, runs_code

SKIPS_VALUES = ("unescapedquotehandling", "SKIP_VALUE")


def find_option_faults(
    options: Mapping[str, str], kind: str = "", is_secret: Callable[[str, str], bool] = lambda *_: False
) -> Iterator[tuple[str, str, str]]:
    """Return name, message and hint for each option that no reader or writer of this kind may have.

    Of what `is_secret`, by a property's name and its option's value, more is said elsewhere, and nothing repeated here.
    """
    seen: dict[str, str] = {}
    properties = find_refused_properties(options) if kind == "jdbc" else ()
    refused = {found.option: found for found in properties if not is_secret(found.name, options[found.option])}
    for name, value in options.items():
        twin = seen.setdefault(name.lower(), name)
        if twin != name:
            yield name, f"options '{twin}' and '{name}' differ only in case", "Spark takes them for one: keep one"
        elif name in refused:
            yield name, refused[name].message, refused[name].hint
        elif runs_code(name, value) and not (kind == "jdbc" and is_permitted(options, name)):
            message = f"option '{name}' is refused: it may hold a statement or name a class to be run"
            yield name, message, "remove it: Spark's own options, and those of drivers that are plain values, are taken"
        elif moves_files(name):
            message = f"option '{name}' is refused: it would move files"
            yield name, message, "remove it: a datasource's `path_prefix` and a location's `path` say where files are"
        elif reads_loosely(name, value, kind):
            message = f"option '{name}' with this value would leave out or mix up what Spark cannot read"
            yield name, message, "remove it: every file, line and value is read, or the run stops"


def reads_loosely(name: str, value: str, kind: str) -> bool:
    """Return whether a reader of this kind would skip what it cannot read."""
    if kind == "jdbc":
        return False
    if kind == "csv" and (name.lower(), value.upper()) == SKIPS_VALUES:
        return True
    strict = get_option({**NO_FILE_LEFT_OUT, **STRICT.get(kind, {})}, name)
    return strict is not None and value.upper() != strict.upper()
