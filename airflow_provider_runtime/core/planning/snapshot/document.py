"""The run snapshot: one JSON document in canonical form, known by the SHA-256 of its bytes."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from airflow_provider_runtime.core.errors import Problem, SnapshotError
from airflow_provider_runtime.core.model.snapshot import SNAPSHOT_VERSION, find_misfit
from airflow_provider_runtime.core.planning.resolve.locations import hide_control_characters


def encode_canonical(value: object) -> bytes:
    """Return JSON as UTF-8 with sorted keys and no blanks; floats are refused, for they have no one spelling."""
    _refuse_floats(value, "")
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8")


def _refuse_floats(value: object, path: str) -> None:
    if isinstance(value, float):
        raise TypeError(f"a snapshot holds no floats: {path}")
    if isinstance(value, dict):
        for key, entry in value.items():
            if not isinstance(key, str):
                raise TypeError(f"a snapshot's keys are texts: {path}.{key}")
            _refuse_floats(entry, f"{path}.{key}")
    elif isinstance(value, list | tuple):
        for position, entry in enumerate(value):
            _refuse_floats(entry, f"{path}[{position}]")


@dataclass(frozen=True)
class Snapshot:
    """A snapshot's document with its canonical bytes and their digest."""

    document: dict[str, Any]
    content: bytes
    sha256: str

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Snapshot:
        """Return the snapshot of a document."""
        content = encode_canonical(document)
        return cls(document, content, hashlib.sha256(content).hexdigest())

    @classmethod
    def from_content(cls, content: bytes, sha256: str) -> Snapshot:
        """Return the snapshot that these bytes hold; SNAPSHOT_001 when their digest is another."""
        found = hashlib.sha256(content).hexdigest()
        if found != sha256.lower():
            message = f"snapshot's content does not match its digest: expected {sha256.lower()}, found {found}"
            raise SnapshotError(Problem("SNAPSHOT_001", message, "resolve again, or take the file from its store"))
        try:
            document = json.loads(content.decode("utf-8"))
        except (ValueError, RecursionError):
            raise SnapshotError(Problem("SNAPSHOT_001", "the snapshot is not JSON")) from None
        version = document.get("snapshot_version") if isinstance(document, dict) else None
        if version != SNAPSHOT_VERSION:
            shown = hide_control_characters(str(version)[:60])
            message = f"snapshot version {shown} is not known, expected {SNAPSHOT_VERSION}"
            raise SnapshotError(Problem("SNAPSHOT_001", message, "resolve again with this version of the package"))
        if (reason := find_misfit(content)) is not None:
            message = f"the snapshot is not one that this package has written: {hide_control_characters(reason)}"
            raise SnapshotError(Problem("SNAPSHOT_001", message, "resolve again"))
        return cls(document, content, found)

    @property
    def run_id(self) -> str:
        """The run's id."""
        return str(self.document["run_id"])

    @property
    def project_id(self) -> str:
        """The project's id."""
        return str(self.document["project"]["id"])

    @property
    def period_identifier(self) -> str:
        """The identifier of the run's period."""
        return str(self.document["period"]["identifier"])

    @property
    def plan(self) -> dict[str, Any]:
        """What the Spark job executes."""
        plan: dict[str, Any] = self.document["plan"]
        return plan
