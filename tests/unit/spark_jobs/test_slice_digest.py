"""What distinguishes the rows of two slices, and what must not."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark_jobs.spark.storage import LocalStorage, digest_rows


def write_slice(folder: Path, values: list[int], *, name: str = "part-0.parquet", longer_footer: bool = False) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    # The Arrow schema goes into the footer and nowhere else.
    pq.write_table(pa.table({"amount": values}), folder / name, store_schema=longer_footer)
    return folder / name


def digest(folder: Path) -> str | None:
    return digest_rows(LocalStorage(), f"file://{folder}")


@pytest.mark.parametrize("values", [[], [1], list(range(300_000))])
def test_footer_and_name_of_a_parquet_file_say_nothing_of_its_rows(tmp_path: Path, values: list[int]) -> None:
    one = write_slice(tmp_path / "one", values)
    two = write_slice(tmp_path / "two", values, name="part-1.parquet", longer_footer=True)

    assert one.read_bytes() != two.read_bytes()
    assert digest(one.parent) == digest(two.parent)
    assert LocalStorage().compute_digest(str(one)) != LocalStorage().compute_digest(str(two))


def test_the_same_footer_in_another_order_is_the_same_slice(tmp_path: Path) -> None:
    file = write_slice(tmp_path / "one", [1, 2, 3])
    before = digest(file.parent)
    content = file.read_bytes()
    start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    file.write_bytes(content[:start] + content[start:-8][::-1] + content[-8:])

    assert digest(file.parent) == before


def test_one_changed_value_is_another_slice(tmp_path: Path) -> None:
    values = list(range(300_000))
    one = write_slice(tmp_path / "one", values)
    two = write_slice(tmp_path / "two", [*values[:-1], 0])

    assert digest(one.parent) != digest(two.parent)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"0123PAR1", b"a;b\n1;2\n", b"PAR1\xff\xff\xff\x7fPAR1"])
def test_every_byte_counts_in_a_file_that_has_no_such_footer(tmp_path: Path, content: bytes) -> None:
    found = set()
    for text in (content, content + b"x", b"y" + content):
        (tmp_path / "part-0").write_bytes(text)
        found.add(digest(tmp_path))

    assert len(found) == 3
