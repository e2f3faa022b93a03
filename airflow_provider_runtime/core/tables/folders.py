"""Folders of attempts: what may be removed, and what never, because a table may refer to it.

    <location>/runtime-<run>/<token>-<nonce>-<seq>/_uncommitted     beside the files, until a commit is tried

The mark goes before the table's head is read, and leftovers of older attempts are removed only after a newer one has
committed: an attempt whose mark was still there then finds the newer token and does not commit.
"""

from __future__ import annotations

import contextlib
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from pyarrow import fs

from spark_jobs.contract.report import UNCOMMITTED

_ATTEMPT = re.compile(r"(\d{1,20})-[A-Za-z0-9-]+")


@dataclass(frozen=True, slots=True)
class AttemptFolder:
    """The folder of one attempt in a file system."""

    files: fs.FileSystem
    location: str
    """Path of the table's location for files."""
    folder: str

    @property
    def path(self) -> str:
        """Path of the folder."""
        return f"{self.location}/{self.folder}" if self.location else self.folder

    def claim(self) -> None:
        """Mark the files as ones that a table may refer to from now on: no clean-up removes them."""
        with contextlib.suppress(FileNotFoundError):
            self.files.delete_file(f"{self.path}/{UNCOMMITTED}")

    def unclaim(self) -> None:
        """No commit was tried after all."""
        with self.files.open_output_stream(f"{self.path}/{UNCOMMITTED}"):
            pass

    def remove(self) -> None:
        """Remove the files, which no table refers to."""
        _delete(self.files, self.path)

    def remove_older(self) -> None:
        """Remove what older attempts of the same run have written and never tried to commit."""
        own = self.folder.rpartition("/")[2]
        parent = self.path[: -len(own) - 1]
        found = self.files.get_file_info(fs.FileSelector(parent, allow_not_found=True))
        for entry in found:
            if entry.type == fs.FileType.Directory and _read_token(entry.base_name) < _read_token(own):
                mark = self.files.get_file_info(f"{entry.path}/{UNCOMMITTED}")
                if mark.type == fs.FileType.File:
                    _delete(self.files, entry.path)


def _delete(files: fs.FileSystem, path: str) -> None:
    """Remove a folder, the mark last: what is left of it can still be removed later."""
    if (local := _find_local(files, path)) is not None:
        _delete_local(local)
        return
    inside = files.get_file_info(fs.FileSelector(path, recursive=True, allow_not_found=True))
    for entry in sorted(inside, key=lambda entry: entry.base_name == UNCOMMITTED):
        if entry.type == fs.FileType.File:
            files.delete_file(entry.path)
    with contextlib.suppress(OSError):
        files.delete_dir(path)


def _find_local(files: fs.FileSystem, path: str) -> Path | None:
    """Return the path of a folder on this machine, None for one of another store."""
    if isinstance(files, fs.SubTreeFileSystem):
        return _find_local(files.base_fs, f"{files.base_path.rstrip('/')}/{path}")
    return Path(path) if isinstance(files, fs.LocalFileSystem) else None


def _delete_local(folder: Path) -> None:
    """Remove a folder of this machine; symbolic links are not followed."""
    if folder.is_symlink() or folder.parent.is_symlink():
        return
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name == UNCOMMITTED):
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    folder.rmdir()


def _read_token(name: str) -> int:
    found = _ATTEMPT.fullmatch(name)
    return int(found[1]) if found else 2**127
