"""Files are packed into tasks so that the cores of a single machine end together."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.sources.splits import USUAL_BYTES, choose_split_bytes

MIB = 1 << 20


def test_ten_equal_files_become_two_tasks_of_five() -> None:
    """Spark's own size makes tasks of four, four and two files: one core reads six of ten."""
    chosen = choose_split_bytes([25 * MIB] * 10, 2)
    assert 5 * 29 * MIB - 4 * MIB <= chosen < 6 * 29 * MIB - 4 * MIB


def test_what_is_even_already_stays() -> None:
    assert choose_split_bytes([], 2) == USUAL_BYTES
    assert choose_split_bytes([12 * MIB, 12 * MIB], 2) == USUAL_BYTES
    assert choose_split_bytes([100 * MIB] * 8, 4) == USUAL_BYTES


def test_large_files_and_large_tables_are_left_to_spark() -> None:
    assert choose_split_bytes([300 * MIB, 20 * MIB, 20 * MIB], 2) == USUAL_BYTES
    assert choose_split_bytes([25 * MIB] * 1000, 2) == USUAL_BYTES


def pack_and_run(sizes: list[int], limit: int, cores: int) -> int:
    """Another way to say how much the busiest core reads: files in order, largest first, closed when full."""
    limit = min(limit, (sum(sizes) + 4 * MIB * len(sizes)) // cores)
    tasks: list[list[int]] = [[]]
    for size in sorted(sizes, reverse=True):
        if tasks[-1] and sum(tasks[-1]) + 4 * MIB * len(tasks[-1]) + size > limit:
            tasks.append([])
        tasks[-1].append(size)
    busy = [0] * cores
    for task in tasks:
        busy.sort()
        busy[0] += sum(task)
    return max(busy)


@given(st.lists(st.integers(1, 128).map(lambda size: size * MIB), max_size=60), st.integers(1, 8))
def test_no_choice_is_worse_than_sparks_own(sizes: list[int], cores: int) -> None:
    chosen = choose_split_bytes(sizes, cores)
    assert 64 * MIB <= chosen <= 256 * MIB
    if sizes:
        assert pack_and_run(sizes, chosen, cores) <= pack_and_run(sizes, USUAL_BYTES, cores)
