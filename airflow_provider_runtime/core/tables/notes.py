"""What a commit says of the run that made it, kept in the table's own history."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_PREFIX = "airflow-provider-runtime."
_FOLDER = re.compile(r"runtime-[0-9a-f]{16}/\d{1,20}-[A-Za-z0-9-]+")


def is_attempt_folder(folder: str) -> bool:
    """Return whether this is how a job names the folder of an attempt below a table's location for files."""
    return _FOLDER.fullmatch(folder) is not None


@dataclass(frozen=True, slots=True)
class CommitNote:
    """Who committed, and which rows the commit has replaced."""

    project_id: str
    period: str
    snapshot_sha256: str
    token: int
    output_seq: int
    folder: str = ""
    """Folder of the attempt's files, below the table's location for files."""
    periods: tuple[str, ...] = ()
    """Values of the period column whose rows were replaced; none: those of the whole table."""
    content: str | None = None
    """Digest of the rows, where it is known."""

    @property
    def run_key(self) -> tuple[str, str]:
        """What attempts of the same project and period have in common."""
        return self.project_id, self.period

    @property
    def replaces_all(self) -> bool:
        """Whether the rows of the whole table were replaced."""
        return not self.periods

    def touches(self, periods: tuple[str, ...]) -> bool:
        """Return whether rows of these periods (none: any rows) were replaced."""
        return self.replaces_all or not periods or not set(self.periods).isdisjoint(periods)

    def is_same_publication(self, other: CommitNote) -> bool:
        """Return whether another note is of the same output: of the very same files, or provably of the same rows."""
        same_output = (self.run_key, self.snapshot_sha256, self.output_seq, self.replaces_all) == (
            other.run_key,
            other.snapshot_sha256,
            other.output_seq,
            other.replaces_all,
        )
        same_rows = self.content is not None and self.content == other.content
        return same_output and (self.folder == other.folder or same_rows)

    def to_properties(self) -> dict[str, str]:
        """Return the note as properties of a commit."""
        values = {
            "project": self.project_id,
            "period": self.period,
            "snapshot": self.snapshot_sha256,
            "token": str(self.token),
            "output": str(self.output_seq),
            "folder": self.folder,
            "replaced-periods": ",".join(self.periods),
            "content": self.content or "",
        }
        return {_PREFIX + name: value for name, value in values.items()}


def find_note(properties: Mapping[str, object]) -> CommitNote | None:
    """Return what a commit says of its run; None when it was made by somebody else."""
    values = {name.removeprefix(_PREFIX): str(value) for name, value in properties.items() if name.startswith(_PREFIX)}
    is_whole = {"project", "period", "snapshot", "folder", "replaced-periods", "content"} <= values.keys()
    if not is_whole or not (values.get("token", "").isdigit() and values.get("output", "").isdigit()):
        return None
    periods = values["replaced-periods"]
    return CommitNote(
        values["project"],
        values["period"],
        values["snapshot"],
        int(values["token"]),
        int(values["output"]),
        values["folder"],
        tuple(periods.split(",")) if periods else (),
        values["content"] or None,
    )
