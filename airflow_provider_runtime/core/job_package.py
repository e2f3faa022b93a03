"""The Spark job as two files for spark-submit: the application, and the package it imports as a zip.

The zip is made of the installed `spark_jobs` and is the same, byte for byte, for the same sources. The folder is named
by its digest, so that processes that start together may all write it.
"""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
import zipfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

PACKAGE = "spark_jobs"
APPLICATION = "run_project.py"
# The first moment that a zip can hold: file times must not make two archives of the same sources differ.
_TIME = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class JobPackage:
    """What spark-submit is given."""

    application: Path
    archive: Path


def build_job_package(folder: Path) -> JobPackage:
    """Write the job's application and its zip below a folder, unless they are there, and return where they are."""
    sources = _read_sources()
    content = _build_archive(sources)
    target = folder / hashlib.sha256(content).hexdigest()[:16]
    target.mkdir(parents=True, exist_ok=True)
    archive = _write_once(target / f"{PACKAGE}.zip", content)
    return JobPackage(_write_once(target / APPLICATION, sources[f"{PACKAGE}/{APPLICATION}"]), archive)


def _read_sources() -> dict[str, bytes]:
    """Return the package's modules by their path in the archive, sorted."""
    found = find_spec(PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError(f"{PACKAGE} is not installed", name=PACKAGE)
    root = Path(found.submodule_search_locations[0])
    files = sorted(path for path in root.rglob("*.py") if "__pycache__" not in path.parts)
    return {f"{PACKAGE}/{path.relative_to(root).as_posix()}": path.read_bytes() for path in files}


def _build_archive(sources: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sources.items():
            entry = zipfile.ZipInfo(name, _TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content)
    return buffer.getvalue()


def _write_once(path: Path, content: bytes) -> Path:
    """Write a file by renaming it into place; one that holds the content already is left alone."""
    if path.is_file() and path.read_bytes() == content:
        return path
    descriptor, aside = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.chmod(aside, 0o644)
        os.replace(aside, path)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise
    return path
