"""Addresses of files: which are local, and which characters are those of a glob.

A local file is `file:///folder/name` or a plain path, with its characters as they are: Hadoop's Path does not decode
`%20`, and so nobody does.
"""

from __future__ import annotations

import errno
import os
import re
import stat

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_LOCAL = re.compile(r"file:(?://(?:localhost)?(?=/)|(?!//))")
_MAGIC = re.compile(r"[][{}*?\\]")


def has_scheme(text: str) -> bool:
    """Return whether a text is a URI with a scheme such as `s3a:`."""
    return _SCHEME.match(text) is not None


def find_local_path(address: str) -> str | None:
    """Return the path of this machine that an address names; None for one of another storage."""
    local = _LOCAL.match(address)
    if local is None:
        return None if has_scheme(address) else address
    path = address[local.end() :]
    return "/" + path.lstrip("/") if path.startswith("/") else path


def is_local(address: str) -> bool:
    """Return whether an address names a path of this machine's file system."""
    return find_local_path(address) is not None


def escape_pattern(address: str) -> str:
    """Return an address to read with the characters of a glob escaped, for which Hadoop takes them."""
    return _MAGIC.sub(r"\\\g<0>", address)


def unescape_pattern(address: str) -> str:
    """Return an address as it is shown."""
    return re.sub(r"\\(.)", r"\1", address)


def is_pattern(text: str) -> bool:
    """Return whether a text has a character that a glob, or an escape in one, is made of."""
    return _MAGIC.search(text) is not None


def is_glob(text: str) -> bool:
    """Return whether a text is a glob; a character after a backslash is itself."""
    return not set("*?[{").isdisjoint(re.sub(r"\\.", "", text))


def is_hidden(name: str) -> bool:
    """Return whether Spark skips a file or folder of this name: a partition's folder is read even if it begins so."""
    return name.startswith((".", "_")) and "=" not in name


class IrregularFileError(OSError):
    """What is at a path is not a file with an end: a pipe that may never be written to, or a device."""


def read_regular_file(path: str | os.PathLike[str], limit: int) -> bytes:
    """Return a file's content, cut one byte after the limit."""
    if "\0" in os.fspath(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise IrregularFileError(f"{os.fspath(path)} is not a regular file")
    with open(path, "rb") as file:
        return file.read(limit + 1)
