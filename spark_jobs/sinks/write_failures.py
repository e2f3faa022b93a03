"""What a failure while writing says: whether the files or the database have refused the rows."""

from __future__ import annotations

import re

from spark_jobs.errors import shorten
from spark_jobs.sources.read_errors import NO_NUMBER
from spark_jobs.spark.jvm import list_causes

FULL_SIGNS = ("No space left on device", "Disk quota exceeded")
REFUSED_SIGNS = (
    "Permission denied",
    "Mkdirs failed",
    "Read-only file system",
    "ot a directory",
    "FileNotFoundException",
)
DATABASE_SAYS = re.compile(r"(?:SQL\w*Exception|BatchUpdateException): ([^\n]+)")


def find_write_failure(failure: Exception, attempt: str, *, in_database: bool) -> str | None:
    """Return what says that the files or the database refused the rows; None when it was something else."""
    if isinstance(failure, OSError):
        return failure.strerror or str(failure)
    texts = list_causes(failure)
    for text in texts:
        full = next((sign for sign in FULL_SIGNS if sign in text), None)
        if full is not None:
            return full
        if attempt in text and any(sign in text for sign in REFUSED_SIGNS):
            return shorten(text)
    said = DATABASE_SAYS.findall("\n".join(texts)) if in_database else []
    if any(NO_NUMBER.search(text) for text in said):
        # It is the source that holds it.
        return None
    # The last cause is the first one in time: what the database has said itself.
    return shorten(said[-1]) if said else None
