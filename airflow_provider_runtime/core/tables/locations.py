"""A pinned version of a table as locations that the job reads."""

from __future__ import annotations

import posixpath
from dataclasses import replace

from airflow_provider_runtime.core.tables.addresses import to_job_uri
from airflow_provider_runtime.core.tables.ports import FileGroup, PinnedTable
from spark_jobs.contract.tables import Column, Location


def locate_files(place: Location, pinned: PinnedTable) -> tuple[Location, ...]:
    """Return a location for each group of files; one without files when there are none."""
    schema = tuple(Column(column.name, column.type, column.nullable) for column in pinned.columns)
    plain = replace(place, version=pinned.version, schema=schema)
    return tuple(_locate_group(plain, group) for group in pinned.groups) or (plain,)


def _locate_group(place: Location, group: FileGroup) -> Location:
    uris = [to_job_uri(file.uri) for file in group.files]
    folder = posixpath.commonpath([posixpath.dirname(uri.partition("://")[2]) for uri in uris])
    root = f"{uris[0].partition('://')[0]}://{folder}"
    return replace(
        place,
        uri=root,
        files=tuple(uri[len(root) + 1 :] for uri in uris),
        bytes=sum(file.size for file in group.files),
        names=dict(group.names),
        constants=dict(group.constants),
    )
