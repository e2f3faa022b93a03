"""Files and folders wherever they are: the few operations that publishing is made of.

Every operation takes URIs. Local ones go through `os`, all others through Hadoop (`jvm.HadoopStorage`). Failures are
`OSError`s of either: a missing source is FileNotFoundError, a target that is in the way is FileExistsError.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
import secrets
import shutil
import stat
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from spark_jobs.contract.addresses import find_local_path, is_local, read_regular_file

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RENAME_EXCHANGE = 2
AT_FDCWD = -100
PARQUET_TAIL = 8
"""A Parquet file ends with the length of its footer, four bytes, and four that say that it is one."""
_PARQUET_MAGIC = b"PAR1"
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Entry:
    """Something in a folder."""

    name: str
    is_folder: bool
    size: int
    age_seconds: float


class Storage(Protocol):
    """What publishing asks of a file system."""

    def list(self, uri: str) -> list[Entry]:
        """Return what a folder holds, by name; nothing when there is no such folder."""

    def exists(self, uri: str) -> bool:
        """Return whether there is a file or a folder."""

    def is_link(self, uri: str) -> bool:
        """Return whether this is a symbolic link: what it leads to belongs to somebody else."""

    def make_folder(self, uri: str) -> None:
        """Make a folder and those above it, where they are missing."""

    def move(self, source: str, target: str) -> None:
        """Rename; a target that exists is an error, never replaced or moved into."""

    def exchange(self, first: str, second: str) -> bool:
        """Let two folders change places in one step; False where that cannot be done."""

    def copy_file(self, source: str, target: str) -> None:
        """Copy a file."""

    def delete(self, uri: str) -> None:
        """Remove a file or a folder with all it holds; nothing to remove is fine."""

    def read_bytes(self, uri: str, limit: int) -> bytes:
        """Return a file's content, cut one byte after the limit."""

    def write_bytes(self, uri: str, content: bytes) -> None:
        """Write a file that appears with its whole content or not at all."""

    def compute_digest(self, uri: str, *, without_footer: bool = False) -> str | None:
        """Return a digest of a file's content, of a Parquet file also without its footer; None when that costs much."""


def join_uri(folder: str, *names: str) -> str:
    """Return the URI of something below a folder."""
    return "/".join([folder.rstrip("/"), *names])


def split_uri(uri: str) -> tuple[str, str]:
    """Return a URI's folder and last name; the folder is '' when there is nothing above it."""
    scheme, mark, rest = uri.rstrip("/").partition("://")
    if not mark:
        scheme, rest = "", scheme
    folder, slash, name = rest.rpartition("/")
    if not slash or (mark and not name):
        return "", rest
    return (f"{scheme}{mark}{folder}" if folder or not mark else f"{scheme}{mark}/"), name


def get_local_path(uri: str) -> str:
    """Return the path that a local URI stands for."""
    path = find_local_path(uri)
    if path is None:
        raise OSError(f"{uri} is not a path of this machine")
    return path


def open_storage(uri: str, spark: SparkSession | None = None) -> Storage:
    """Return the storage that a URI lives in."""
    if is_local(uri):
        return LocalStorage()
    if spark is None:
        raise OSError(f"{uri} needs a Spark session to be reached")
    from spark_jobs.spark.hadoop_storage import HadoopStorage

    return HadoopStorage(spark, uri)


def digest_rows(storage: Storage, uri: str) -> str | None:
    """Return a digest of the rows in a folder's files, whatever their names; None when the storage keeps no checksums.

    It identifies the rows of one plan. The footer of a Parquet file is left out: it repeats the plan's schema and what
    the pages say themselves, and lists some of that in an order that changes from one process to the next.
    """
    digests = [storage.compute_digest(join_uri(uri, entry.name), without_footer=True) for entry in storage.list(uri)]
    if None in digests:
        return None
    return hashlib.sha256("\n".join(sorted(map(str, digests))).encode()).hexdigest()


def get_data_length(size: int, tail: bytes) -> int:
    """Return how many bytes of a file of this size and end come before its Parquet footer; all, if it has none."""
    length = size - len(tail) - int.from_bytes(tail[:4], "little")
    return length if tail[4:] == _PARQUET_MAGIC and length >= len(_PARQUET_MAGIC) else size


class LocalStorage:
    """The file system of this machine."""

    def list(self, uri: str) -> list[Entry]:
        """Return what a folder holds, by name; nothing when there is no such folder."""
        try:
            with os.scandir(get_local_path(uri)) as found:
                return sorted(filter(None, map(_describe, found)), key=lambda entry: entry.name)
        except (FileNotFoundError, NotADirectoryError):
            return []

    def exists(self, uri: str) -> bool:
        """Return whether there is a file or a folder."""
        return os.path.lexists(get_local_path(uri))

    def is_link(self, uri: str) -> bool:
        """Return whether this is a symbolic link: what it leads to belongs to somebody else."""
        return os.path.islink(get_local_path(uri))

    def make_folder(self, uri: str) -> None:
        """Make a folder and those above it, where they are missing."""
        os.makedirs(get_local_path(uri), exist_ok=True)

    def move(self, source: str, target: str) -> None:
        """Rename; a target that exists is an error, never replaced or moved into."""
        source_path, target_path = get_local_path(source), get_local_path(target)
        if os.path.lexists(target_path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target_path)
        # A folder that appears in between is in the way for rename(2) too, unless it is empty.
        os.rename(source_path, target_path)

    def exchange(self, first: str, second: str) -> bool:
        """Let two folders change places in one step; False where that cannot be done."""
        return _exchange(get_local_path(first), get_local_path(second))

    def copy_file(self, source: str, target: str) -> None:
        """Copy a file."""
        shutil.copyfile(get_local_path(source), get_local_path(target))

    def delete(self, uri: str) -> None:
        """Remove a file or a folder with all it holds; nothing to remove is fine."""
        path = get_local_path(uri)
        try:
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            else:
                os.unlink(path)
        except FileNotFoundError:
            return

    def read_bytes(self, uri: str, limit: int) -> bytes:
        """Return a file's content, cut one byte after the limit."""
        return read_regular_file(get_local_path(uri), limit)

    def write_bytes(self, uri: str, content: bytes) -> None:
        """Write a file that appears with its whole content or not at all; a pipe, device or link is written into."""
        path = get_local_path(uri)
        if os.path.lexists(path) and not stat.S_ISREG(os.lstat(path).st_mode):
            with open(path, "wb") as file:
                file.write(content)
            return
        folder, name = os.path.split(path)
        os.makedirs(folder or ".", exist_ok=True)
        aside = os.path.join(folder, f".{name}.{secrets.token_hex(4)}")
        try:
            with open(aside, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(aside, path)
        except OSError:
            self.delete(aside)
            raise

    def compute_digest(self, uri: str, *, without_footer: bool = False) -> str | None:
        """Return a digest of a file's content, of a Parquet file also without its footer."""
        with open(get_local_path(uri), "rb") as file:
            if not without_footer:
                return hashlib.file_digest(file, "sha256").hexdigest()
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - PARQUET_TAIL, 0))
            left = get_data_length(size, file.read())
            file.seek(0)
            digest = hashlib.sha256()
            while left and (chunk := file.read(min(left, _CHUNK))):
                digest.update(chunk)
                left -= len(chunk)
            return digest.hexdigest()


def _describe(item: os.DirEntry[str]) -> Entry | None:
    try:
        status = item.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
    return Entry(item.name, item.is_dir(follow_symlinks=False), status.st_size, time.time() - status.st_mtime)


def _exchange(first: str, second: str) -> bool:
    """Call Linux's renameat2 with RENAME_EXCHANGE; other systems and some file systems do not have it."""
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is None:
        return False
    if call(AT_FDCWD, os.fsencode(first), AT_FDCWD, os.fsencode(second), RENAME_EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP):
        return False
    raise OSError(code, os.strerror(code), first)
