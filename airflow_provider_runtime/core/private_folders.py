"""Folders of state: made for their owner alone, since reports, slices and failing rows hold data."""

from __future__ import annotations

from pathlib import Path

PRIVATE_MODE = 0o700


def make_private_folder(folder: Path) -> None:
    """Make a folder, and those above it that are missing, for the owner alone; one that is there keeps its mode."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(mode=PRIVATE_MODE, exist_ok=True)
    # What is there and is not a folder is reported in the system's words.
    folder.mkdir(exist_ok=True)
