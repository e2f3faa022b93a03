"""What readers see of the tables that a run replaces rows of, handed to its job beside the snapshot.

It changes from run to run, and so it is not a part of the snapshot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from spark_jobs.contract.documents import encode_canonical, read_document, write_document
from spark_jobs.contract.operations import OutputOperation
from spark_jobs.contract.snapshot import Snapshot
from spark_jobs.contract.tables import Location


@dataclass(frozen=True, slots=True)
class PublishedRows:
    """Where readers find what outputs replace."""

    outputs: Mapping[str, tuple[Location, ...]]
    """By the number of the output; nothing where there is no table yet."""


def write_published(snapshot: Snapshot) -> bytes:
    """Return the document with what readers see of a snapshot's destinations."""
    destinations = {str(output.seq): output.destination for output in snapshot.plan.outputs}
    outputs = {seq: place.published for seq, place in destinations.items() if place.published is not None}
    return encode_canonical(write_document(PublishedRows(outputs)))


def add_published(snapshot: Snapshot, document: object) -> Snapshot:
    """Return a snapshot with what a document says of its destinations."""
    outputs = read_document(PublishedRows, document).outputs

    def add(operation: OutputOperation) -> OutputOperation:
        published = outputs.get(str(operation.seq), operation.destination.published)
        return replace(operation, destination=replace(operation.destination, published=published))

    operations = tuple(
        add(operation) if isinstance(operation, OutputOperation) else operation
        for operation in snapshot.plan.operations
    )
    return replace(snapshot, plan=replace(snapshot.plan, operations=operations))
