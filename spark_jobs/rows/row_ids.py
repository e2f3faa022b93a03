"""Row ids: UUID version 7 with the run's timestamp, the same whenever the same snapshot is executed.

No random numbers and nothing that depends on how the work is split. 62 bits say which row it is: for Parquet a hash
of the file's path and the row's place in the file, for other sources a hash of the row's content and its place among
the rows of that hash, for aggregated rows a hash of the group's keys. The 12 bits before say which operation made it.
The plan's bits of the period are mixed in, since the runs of several periods may have one timestamp.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from pyspark.sql import functions

from spark_jobs.contract.sql import quote_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

POSITION = "@position"
ORDINAL_BITS = 26
_CONTENT_MASK = (1 << (62 - ORDINAL_BITS)) - 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_VARIANT = "(-9223372036854775807L - 1L)"
_LOW_62_BITS = (1 << 62) - 1
_HEX = f"split('{' '.join(f'{byte:02x}' for byte in range(256))}', ' ')"


def make_prefix(run_timestamp: datetime, operation_ordinal: int) -> str:
    """Return the first three groups of an id: milliseconds, version, and the ordinal of the operation."""
    milliseconds = (run_timestamp - _EPOCH) // timedelta(milliseconds=1)
    digits = f"{milliseconds:012x}"
    return f"{digits[:8]}-{digits[8:]}-7{operation_ordinal & 0xFFF:03x}-"


def build_row_id(prefix: str, position: str, period_bits: int) -> str:
    """Return SQL of the id of a row with this 62 bit position.

    It names the position more than once, so that Spark leaves that expression where it is, next to the scan, and
    reads of the files' metadata only what the position needs. Its value is computed once all the same. Digits are
    looked up a byte at a time: the first `lower` of a JVM loads the case tables of all languages, a second of work.
    """
    mixed = f"({position} ^ {period_bits}L)" if period_bits else position
    number = f"({mixed} | {_VARIANT})"
    places = [f"CAST(shiftrightunsigned({number}, {shift}) & 255 AS int)" for shift in range(56, -8, -8)]
    # `get`, not brackets: Spark also looks up the position that a row with an id of its own does not have.
    digits = [f"get({_HEX}, {place})" for place in places]
    return f"concat('{prefix}', {', '.join(digits[:2])}, '-', {', '.join(digits[2:])})"


def hash_keys(keys: Sequence[str], salt: str) -> str:
    """Return SQL of 62 bits that stand for a group's keys, if it has any; NULL and the empty text differ."""
    texts = [f"coalesce(concat(length(CAST({key} AS string)), ':', CAST({key} AS string)), '-')" for key in keys]
    content = ", ".join([f"'{salt}|'", *texts])
    digest = f"sha2(concat({content}), 256)"
    high = f"CAST(conv(substr({digest}, 1, 15), 16, 10) AS bigint)"
    return f"{high} * 4 + CAST(conv(substr({digest}, 16, 1), 16, 10) AS bigint) % 4"


def number_by_content(frame: DataFrame, columns: Sequence[str], beside: Sequence[str] = ()) -> DataFrame:
    """Fill positions from the rows' content: a hash, and the place among the rows that share it.

    The columns `beside` are kept, and are not part of the content.
    """
    content = ", ".join(quote_name(column) for column in columns)
    position = quote_name(POSITION)
    hashed = frame.selectExpr("*", f"xxhash64('0', {content}) & {_CONTENT_MASK}L AS `@hash`")
    # By the values themselves: a hash passes over NULLs, and rows that differ only there would change places.
    place = f"row_number() OVER (PARTITION BY `@hash` ORDER BY {content}) - 1"
    filled = f"coalesce({position}, shiftleft(`@hash`, {ORDINAL_BITS}) | {place})"
    kept = [quote_name(column) for column in (*columns, *beside)]
    return hashed.selectExpr(*kept, f"{filled} AS {position}")


def read_position(row_id: str, period_bits: int) -> int:
    """Return the 62 bits that say which row it is."""
    return int(row_id.replace("-", "")[16:], 16) & _LOW_62_BITS ^ period_bits


def find_repeated(frame: DataFrame) -> str | None:
    """Return a row id that more than one row has kept; hashes are counted first, which is quicker than texts."""
    kept = frame.where("_row_id IS NOT NULL")
    hashes = kept.groupBy(functions.expr("xxhash64(_row_id)").alias("hash")).count().where("count > 1").limit(100)
    if hashes.isEmpty():
        return None
    suspects = kept.join(hashes, functions.expr("xxhash64(_row_id) = hash"), "left_semi")
    found = suspects.groupBy("_row_id").count().where("count > 1").orderBy("_row_id").first()
    return None if found is None else str(found["_row_id"])
