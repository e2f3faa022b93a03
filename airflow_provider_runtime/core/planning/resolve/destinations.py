"""From an output's destination to the place that the job writes to."""

from __future__ import annotations

import re
from dataclasses import replace

from airflow_provider_runtime.core.catalog.catalog import Catalog
from airflow_provider_runtime.core.catalog.definition import Definition, Path
from airflow_provider_runtime.core.errors import DefinitionError, Problem
from airflow_provider_runtime.core.model.datasource import Datasource
from airflow_provider_runtime.core.model.operation import Destination as WrittenDestination
from airflow_provider_runtime.core.model.operation import OutputOperation
from airflow_provider_runtime.core.model.project import Project
from airflow_provider_runtime.core.planning.resolve.locations import has_control_character, has_parent_segment, make_uri
from airflow_provider_runtime.core.planning.resolve.versioned_tables import is_iceberg_name, make_table_options
from airflow_provider_runtime.core.suggest import suggest
from spark_jobs.contract.operations import Destination
from spark_jobs.contract.options import drop_options, get_option, merge_options
from spark_jobs.contract.own_tables import is_own_table

DEFAULT_SANDBOX = "sandbox"
POSTGRES_NAME_BYTES = 63
PERIOD_FOLDER = "period"
"""A file output keeps each period in a folder `period=<identifier>/`."""
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_STAGING = re.compile(r"(^|/)\.[^/]+\.runtime(/|$)", re.IGNORECASE)


class _UnresolvedError(Exception):
    """Why a destination cannot be resolved, and at which of its keys."""

    def __init__(self, message: str, key: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.key = key
        self.hint = hint


class _ReportedElsewhereError(Exception):
    """The datasource is not valid."""


def resolve_destination(
    catalog: Catalog, definition: Definition[Project], index: int, *, sandbox: str | None = None
) -> Destination:
    """Return where the output at this position of the project's list goes; raise OUTPUT_002 when it can go nowhere.

    With `sandbox`, the id of a datasource, everything goes below that datasource, in a folder of the project's own.
    """
    operation = definition.model.operations[index]
    assert isinstance(operation, OutputOperation)
    try:
        if sandbox is not None:
            return _resolve_in_sandbox(catalog, definition.model, operation.arguments.destination, sandbox)
        wanted = operation.arguments.destination
        return replace(_resolve(catalog, wanted), shared=wanted.shared)
    except _ReportedElsewhereError:
        raise DefinitionError(()) from None
    except _UnresolvedError as reason:
        path: Path = ("operations", index, "arguments", "destination", *([reason.key] if reason.key else []))
        raise DefinitionError(Problem("OUTPUT_002", str(reason), reason.hint, definition.locate(*path))) from None


def _resolve(catalog: Catalog, destination: WrittenDestination) -> Destination:
    if destination.datasource_id is not None:
        return _resolve_in_datasource(catalog, destination)
    if destination.type is None:
        hint = "write {datasource_id, table}, {datasource_id, path} or {type, path}"
        raise _UnresolvedError("the destination names neither a datasource nor a type", hint=hint)
    if destination.type == "jdbc":
        return _resolve_inline_jdbc(destination)
    if destination.type == "iceberg":
        raise _UnresolvedError("a table of Iceberg needs a datasource", "type", "name datasource_id and table")
    if destination.path is None:
        raise _UnresolvedError(f"a location of type {destination.type} needs a path", hint="add `path`")
    _check_path(destination.path, "path", is_bounded=False)
    uri = join_uri(catalog, None, destination.path)
    if destination.type == "delta":
        _check_delta_name(destination.path, "path")
        options = dict(destination.options)
        return Destination(kind="table", format="delta", uri=uri, options=options, display=destination.path)
    return Destination(
        kind="files", format=destination.type, uri=uri, options=dict(destination.options), display=destination.path
    )


def _resolve_inline_jdbc(destination: WrittenDestination) -> Destination:
    if destination.table is None:
        raise _UnresolvedError("a JDBC destination needs a table", hint="add `table`")
    _check_name(destination.table, "table")
    if get_option(destination.options, "url") is None:
        raise _UnresolvedError(
            "a JDBC destination needs the option url", "options", "or name a datasource of type jdbc"
        )
    table = _qualify(destination.table, destination.schema_)
    _check_name_length(get_option(destination.options, "url") or "", table)
    return Destination(
        kind="jdbc", format="jdbc", table=table, options=dict(destination.options), display=f"jdbc/{table}"
    )


def _find_datasource(catalog: Catalog, datasource_id: str) -> Datasource:
    found = catalog.find_datasource(datasource_id)
    if found is None and catalog.is_broken("datasource", datasource_id):
        raise _ReportedElsewhereError
    if found is None:
        raise _UnresolvedError(
            f"datasource '{datasource_id}' not found",
            "datasource_id",
            suggest(datasource_id, list(catalog.datasources)),
        )
    if found.model.status != "active":
        raise _UnresolvedError(
            f"datasource '{datasource_id}' is disabled", "datasource_id", "activate it or name another"
        )
    return found.model


def _resolve_in_datasource(catalog: Catalog, destination: WrittenDestination) -> Destination:
    assert destination.datasource_id is not None
    datasource = _find_datasource(catalog, destination.datasource_id)
    if (destination.table is None) == (destination.path is None):
        raise _UnresolvedError("a destination in a datasource has either a table or a path", hint="name one of the two")
    if datasource.type == "jdbc":
        if destination.table is None:
            raise _UnresolvedError(
                f"datasource '{datasource.id}' is a database", "path", "name a `table` instead of a path"
            )
        return _write_table(datasource, destination.table, destination)
    if datasource.type == "iceberg":
        if destination.table is None:
            reason = f"datasource '{datasource.id}' is an Iceberg catalog"
            raise _UnresolvedError(reason, "path", "name a `table` instead of a path")
        name = ".".join(filter(None, (destination.schema_, destination.table)))
        return _write_iceberg(catalog, datasource, name, destination)
    key = "path" if destination.path is not None else "table"
    relative = destination.path or destination.table or ""
    _check_path(relative, key)
    return _write_folder(catalog, datasource, relative, destination)


def _write_table(datasource: Datasource, name: str, destination: WrittenDestination) -> Destination:
    _check_name(name, "table")
    table = _qualify(name, destination.schema_ or get_option(datasource.options, "schema"))
    options = merge_options(drop_options(datasource.options, "schema"), destination.options)
    _check_name_length(get_option(options, "url") or "", table)
    return Destination(
        kind="jdbc",
        format="jdbc",
        table=table,
        options=options,
        credential_ref=datasource.credential_ref,
        display=f"{datasource.id}/{table}",
    )


def _write_iceberg(catalog: Catalog, datasource: Datasource, name: str, destination: WrittenDestination) -> Destination:
    if not is_iceberg_name(name):
        raise _UnresolvedError(f"the table '{name}' is not a namespace and a name", "table", "write namespace.name")
    options = merge_options(datasource.options, destination.options)
    return Destination(
        kind="table",
        format="iceberg",
        table=name,
        options=make_table_options(catalog, datasource, options),
        credential_ref=datasource.credential_ref,
        display=f"{datasource.id}/{name}",
    )


def _write_folder(
    catalog: Catalog, datasource: Datasource, relative: str, destination: WrittenDestination
) -> Destination:
    if datasource.type == "delta":
        _check_delta_name(
            f"{datasource.path_prefix or ''}/{relative}", "table" if destination.table is not None else "path"
        )
    return Destination(
        kind="table" if datasource.type == "delta" else "files",
        format=datasource.type,
        uri=join_uri(catalog, datasource.path_prefix, relative),
        options=merge_options(datasource.options, destination.options),
        credential_ref=datasource.credential_ref,
        display=f"{datasource.id}/{relative}",
    )


def _resolve_in_sandbox(
    catalog: Catalog, project: Project, destination: WrittenDestination, sandbox: str
) -> Destination:
    """Keep a draft's output apart: below the sandbox, by project and by what it was meant for."""
    _resolve(catalog, destination)
    datasource = _find_datasource(catalog, sandbox)
    name = destination.table or destination.path or ""
    plain = WrittenDestination()
    if datasource.type == "jdbc":
        return _write_table(datasource, re.sub(r"[^A-Za-z0-9_]", "_", f"{project.id}_{name}"), plain)
    if datasource.type == "iceberg":
        words = [re.sub(r"[^A-Za-z0-9_]", "_", word) for word in (project.id, name)]
        return _write_iceberg(catalog, datasource, ".".join(words), plain)
    tail = re.sub(r"[^A-Za-z0-9._-]+", "_", name).strip("._") or "output"
    relative = "/".join([project.id, destination.datasource_id or "inline", tail])
    return _write_folder(catalog, datasource, relative, plain)


def _check_delta_name(text: str, key: str) -> None:
    """Refuse characters that Delta's library takes for parts of an address, once the job has run."""
    if re.search("[%#?]", text):
        raise _UnresolvedError(f"the {key} '{text}' of a Delta table holds '%', '#' or '?'", key, "use other names")


def join_uri(catalog: Catalog, prefix: str | None, relative: str) -> str:
    """Return the address of what is below a prefix, as sources write theirs."""
    return make_uri(catalog.root, prefix, relative.rstrip("/") if not prefix else relative.strip("/"))


def _check_path(path: str, key: str, *, is_bounded: bool = True) -> None:
    """Refuse a path that could lead out of the folder that it is taken below."""
    reason = None
    if has_control_character(path):
        reason = "holds a control character"
    elif "\\" in path:
        reason = "holds a backslash"
    elif is_bounded and (path.startswith(("/", "~")) or _SCHEME.match(path)):
        reason = "is absolute"
    elif is_bounded and has_parent_segment(path):
        reason = "holds '..'"
    elif not re.sub(rf"^{_SCHEME.pattern}", "", path).strip("/. "):
        reason = "names no folder"
    elif _STAGING.search(path):
        reason = "names a folder like those in which outputs are staged (.NAME.runtime)"
    if reason is not None:
        hint = "write a path below the datasource's prefix" if is_bounded else "write a plain path or URI"
        raise _UnresolvedError(f"the {key} {reason}", key, hint)


def _check_name(name: str, key: str) -> None:
    """Refuse names of database tables that are empty, hold control characters, or are those of the job's own."""
    if not name.strip():
        raise _UnresolvedError(f"the {key} is empty", key, f"write a {key}")
    if has_control_character(name):
        raise _UnresolvedError(f"the {key} holds a control character", key, "remove it")
    if is_own_table(name):
        message = f"the {key} '{name}' is one of those in which runs keep what they stage and publish"
        raise _UnresolvedError(message, key, f"write another {key}")


def _check_name_length(url: str, table: str) -> None:
    """Refuse a name that the database would cut, so that the job would not find its own table again."""
    if any(exceeds_name_limit(url, name) for name in table.split(".", 1)):
        raise _UnresolvedError(
            f"the table '{table}' has a name of more than {POSTGRES_NAME_BYTES} bytes, which PostgreSQL cuts",
            "table",
            "write a shorter name",
        )


def exceeds_name_limit(url: str, name: str) -> bool:
    """Return whether a name is longer than what its database keeps of one."""
    return url.casefold().startswith("jdbc:postgresql:") and len(name.encode()) > POSTGRES_NAME_BYTES


def _qualify(table: str, schema: str | None) -> str:
    return f"{schema}.{table}" if schema and "." not in table else table
