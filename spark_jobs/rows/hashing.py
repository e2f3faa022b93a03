"""Spark's xxhash64 in Python, to know without a query how Spark will hash a text."""

from __future__ import annotations

import struct

_MASK = (1 << 64) - 1
_P1, _P2, _P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P4, _P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
_SEED = 42
"""Where Spark's function begins; the hash of one argument is the seed of the next."""


def xxhash64(*texts: str) -> int:
    """Return what `xxhash64(text, …)` gives in Spark, as an unsigned number."""
    seed = _SEED
    for text in texts:
        seed = _hash_bytes(text.encode(), seed)
    return seed


def _hash_bytes(data: bytes, seed: int) -> int:
    striped = len(data) // 32 * 32
    value = _hash_stripes(data, striped, seed) if striped else seed + _P5
    value += len(data)
    words_end = striped + (len(data) - striped) // 8 * 8
    for (word,) in struct.iter_unpack("<Q", data[striped:words_end]):
        value = (_rotate(value & _MASK ^ _round(0, word), 27) * _P1 + _P4) & _MASK
    rest = data[words_end:]
    if len(rest) >= 4:
        value = (_rotate(value & _MASK ^ int.from_bytes(rest[:4], "little") * _P1 & _MASK, 23) * _P2 + _P3) & _MASK
        rest = rest[4:]
    for byte in rest:
        value = _rotate(value & _MASK ^ byte * _P5 & _MASK, 11) * _P1 & _MASK
    return _mix(value & _MASK)


def _hash_stripes(data: bytes, end: int, seed: int) -> int:
    lanes = [(seed + _P1 + _P2) & _MASK, (seed + _P2) & _MASK, seed, (seed - _P1) & _MASK]
    for words in struct.iter_unpack("<4Q", data[:end]):
        lanes = [_round(lane, word) for lane, word in zip(lanes, words, strict=True)]
    value = sum(_rotate(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True)) & _MASK
    for lane in lanes:
        value = ((value ^ _round(0, lane)) * _P1 + _P4) & _MASK
    return value


def _round(lane: int, word: int) -> int:
    return _rotate((lane + word * _P2) & _MASK, 31) * _P1 & _MASK


def _mix(value: int) -> int:
    value = (value ^ value >> 33) * _P2 & _MASK
    value = (value ^ value >> 29) * _P3 & _MASK
    return value ^ value >> 32


def _rotate(value: int, by: int) -> int:
    return (value << by | value >> (64 - by)) & _MASK
