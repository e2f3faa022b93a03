"""The YAML files of a catalog folder: found, and read as bytes. Everybody who reads a catalog reads it here."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from airflow_provider_runtime.core.errors import Place, Problem

SUFFIXES = (".yaml", ".yml")
MAX_FILE_BYTES = 16 * 1024 * 1024


def check_folder(root: Path) -> Problem | None:
    """Return CATALOG_001 when there is no such folder."""
    if root.is_dir():
        return None
    message = "catalog folder does not exist" if not root.exists() else "catalog is not a folder"
    return Problem("CATALOG_001", message, "name it with --catalog, or make one with init", Place(file=str(root)))


def read_files(root: Path, problems: list[Problem]) -> Iterator[tuple[str, bytes]]:
    """Yield every YAML file's name, relative to the folder, with its content; what cannot be read is a problem."""
    for path, name in find_files(root, problems):
        data = read_file(path, name)
        if isinstance(data, Problem):
            problems.append(data)
        else:
            yield name, data


def find_files(root: Path, problems: list[Problem] | None = None) -> Iterator[tuple[Path, str]]:
    """Yield every YAML file and its name below a folder; hidden ones are left out, links are followed once.

    Folders that cannot be read are added to the problems.
    """

    def refuse(error: OSError) -> None:
        if problems is not None:
            name = os.path.relpath(error.filename, root) if error.filename else str(root)
            problems.append(_refuse_unreadable("folder", name, error))

    seen: set[tuple[int, int]] = set()
    for folder, folders, files in os.walk(root, onerror=refuse, followlinks=True):
        try:
            status = os.stat(folder)
        except OSError as error:
            refuse(error)
            continue
        if (status.st_dev, status.st_ino) in seen:
            folders.clear()
            continue
        seen.add((status.st_dev, status.st_ino))
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if name.endswith(SUFFIXES) and not name.startswith("."):
                path = Path(folder, name)
                yield path, path.relative_to(root).as_posix()


def read_file(path: Path, name: str) -> bytes | Problem:
    """Return a file's content, or why it cannot be read. One byte more than is allowed says that it is too large."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise OSError("not a regular file")
        with path.open("rb") as file:
            return file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        return _refuse_unreadable("file", name, error)


def _refuse_unreadable(what: str, name: str, error: OSError) -> Problem:
    reason = (error.strerror or str(error)).lower()
    hint = "check its permissions"
    if isinstance(error, FileNotFoundError):
        hint = "is it a dangling link? fix or remove it"
    return Problem("CATALOG_001", f"{what} cannot be read: {reason}", hint, Place(file=name))
