"""Addresses of files: how prefixes and relative paths become the one address that reader and writer agree on.

A local file is `file:///folder/name` with its characters as they are: Hadoop's Path does not decode `%20`.
"""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

from spark_jobs.contract.addresses import escape_pattern, find_local_path, has_scheme

_CONTROL = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode's categories of what is not seen, or changes how its neighbours are seen."""


def make_uri(root: Path, prefix: str | None, path: str = "") -> str:
    """Return the address of a path below a prefix; relative prefixes are below the catalog's folder."""
    if not prefix and has_scheme(path):
        return make_uri(root, path)
    return _join(_make_base(root, prefix or ""), path)


def make_pattern(root: Path, prefix: str | None, path: str) -> str:
    """Return the address to read: the path may be a pattern of Hadoop's, what it is taken below means itself."""
    if not prefix and (has_scheme(path) or path.startswith("/")):
        return make_uri(root, prefix, path)
    base = _make_base(root, prefix or "")
    folder = _join(base, "")
    return escape_pattern(folder) + _join(base, path).removeprefix(folder)


def _make_base(root: Path, prefix: str) -> Path | str:
    if not has_scheme(prefix):
        return (root.absolute() / prefix).resolve()
    local = find_local_path(prefix)
    return (prefix if local is None else "file:///" + local.lstrip("/")).rstrip("/")


def _join(base: Path | str, path: str) -> str:
    if isinstance(base, Path):
        return f"file://{base / path}".rstrip("/")
    return f"{base}/{path.strip('/')}" if path else base


def check_relative_path(path: str, *, allow_absolute: bool = False) -> str | None:
    """Return why a path could leave the folder that it is taken below, or None.

    Hadoop expands `{a,../b}` before it looks for files, and may put `..` together from pieces of dots.
    """
    if has_control_character(path):
        return "holds a control character"
    if not path.strip("/. "):
        return "names no file or folder"
    if "\\" in path:
        return "holds a backslash"
    if not allow_absolute and (path.startswith(("/", "~")) or has_scheme(path)):
        return "is absolute"
    if has_parent_segment(path):
        return "leads out of its folder by '..'"
    return None


def has_parent_segment(path: str) -> bool:
    """Return whether a path holds `..`, as it is or once its braces are expanded."""
    pieces = re.split(r"[/{},]", path)
    return ".." in pieces or ("{" in path and any(piece and not piece.strip(".") for piece in pieces))


def show_address(text: str) -> str:
    """Return an address without what may be secret in it: user, password and options."""
    # A password may hold the very characters that would end it, so that the last `@` of all counts.
    login, at, place = text.rpartition("@")
    if at and ":" in login:
        scheme = re.match("[A-Za-z][A-Za-z0-9+.-]*:/*", login)
        text = f"{scheme[0] if scheme else ''}…@{place}"
    return re.split("[;?]", text, maxsplit=1)[0]


def hide_control_characters(text: str) -> str:
    """Return a text that cannot forge a line of a log."""
    return "".join("?" if unicodedata.category(character) in _CONTROL else character for character in text)


def has_control_character(text: str) -> bool:
    """Return whether a text holds a character that is not seen, or changes how its neighbours are seen."""
    return any(unicodedata.category(character) in _CONTROL for character in text)
