"""One look at all locations of a plan: which are there, which are not yet, and which only Spark can look at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from airflow_provider_runtime.core.errors import DataError, Place, Problem
from airflow_provider_runtime.core.presence.databases import has_rows
from airflow_provider_runtime.core.presence.files import LocalFiles, Store, has_files
from airflow_provider_runtime.core.tables.addresses import PropertyReader
from spark_jobs.contract.addresses import find_local_path
from spark_jobs.contract.plan import Plan
from spark_jobs.contract.tables import Location, Mark, Table, name_place, name_table

OpenStore = Callable[[str, str | None], Store]
"""Opens the store that a URI names, with a reference to credentials; LookupError when nothing here knows it."""


@dataclass(frozen=True, slots=True)
class Presence:
    """A location, and whether it is there."""

    key: str
    table: Table
    location: Location
    is_there: bool | None
    """None where only Spark knows."""
    reason: str = ""
    """What went wrong while asking."""

    @property
    def place(self) -> str:
        """The location as people write it."""
        return name_place(self.table, self.location)

    @property
    def is_missing(self) -> bool:
        """Whether a run cannot do without it."""
        return self.is_there is False and self.location.on_missing == "error"

    @property
    def status(self) -> str:
        """Whether it is there, in a word or two."""
        if self.is_there is None:
            return f"not known ({self.reason})"
        return "yes" if self.is_there else f"no ({self.reason})" if self.reason else "no"


@dataclass(frozen=True, slots=True)
class Presences:
    """All locations of a plan."""

    found: tuple[Presence, ...]
    marks: Mapping[str, Mark]

    @property
    def missing(self) -> list[Presence]:
        """The locations that a run cannot do without and that are not there."""
        return [presence for presence in self.found if presence.is_missing]

    def make_error(self, waited: str) -> DataError:
        """Return DATA_001, and APPEND_008 for a source, for every location that is not there."""
        return DataError([self._describe(presence, waited) for presence in self.missing])

    def _describe(self, presence: Presence, waited: str) -> Problem:
        mark = self.marks.get(presence.table.mark)
        place = Place(mark.file, mark.line, mark.column, field=mark.field) if mark is not None else Place()
        reason = f" ({presence.reason})" if presence.reason else ""
        return Problem(
            "APPEND_008" if presence.table.role == "append" else "DATA_001",
            f"{name_table(presence.table)}: no data at {presence.place}{reason} after {waited}",
            "write the data, or let the resolver's rule say `on_missing: empty`",
            place,
        )


def look_for_data(plan: Plan, open_store: OpenStore, read_properties: PropertyReader | None) -> Presences:
    """Return for every location of a plan whether it is there; the same place is asked once.

    Without `read_properties` no database is asked.
    """
    asked: dict[str, tuple[bool | None, str]] = {}
    found = []
    for key, table in plan.tables.items():
        for location in table.locations:
            # Two tables at one place may be read by different columns for their period.
            name = repr((location, table.temporal))
            if name not in asked:
                asked[name] = _ask(table, location, open_store, read_properties)
            found.append(Presence(key, table, location, *asked[name]))
    return Presences(tuple(found), plan.marks)


def _ask(
    table: Table, location: Location, open_store: OpenStore, read_properties: PropertyReader | None
) -> tuple[bool | None, str]:
    if location.kind == "table":
        # It was asked for its version, whose files are listed for the period.
        is_there = table.temporal.mode != "period" or bool(location.files or location.file_list)
        return is_there, "" if is_there else f"no rows of {location.period}"
    if location.kind == "memory":
        return True, ""
    try:
        if location.kind == "jdbc":
            if read_properties is None:
                raise LookupError("not asked for a snapshot")
            credentials = read_properties(location.credential_ref) if location.credential_ref else {}
            return has_rows(location, table, credentials), ""
        is_local = find_local_path(location.uri) is not None
        store = LocalFiles() if is_local else open_store(location.uri, location.credential_ref)
        return has_files(store, location.uri), ""
    except LookupError as error:
        return None, str(error.args[0])
    except Exception as error:  # noqa: BLE001 - every library of a store or a database has its own
        # The text may hold addresses and logins of others.
        return False, f"cannot be asked now: {type(error).__name__}"
