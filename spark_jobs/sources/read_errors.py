"""What is wrong with data that Spark cannot read, from what it says about them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from spark_jobs.contract.codes import Code
from spark_jobs.errors import RAISED_PREFIX, shorten

ENCODING_HINT = "save it as UTF-8, or name its encoding: datasource option `encoding`, such as ISO-8859-1"
_HEADER_HINT = "give all files of a location the same columns in the same order"
_TYPES_HINT = "write all files of a location with the same types"
NANOSECONDS = "timestamps of nanoseconds cannot be read"
NANOSECONDS_HINT = "write timestamps in microseconds; pyarrow and pandas: coerce_timestamps='us'"
TYPE_HINT = "write the column with a type that the dataset can declare, or leave it out of the dataset"
_SHAPE_HINT = (
    "give every line as many values as the header; values with line breaks need the datasource option `multiLine: true`"
)
_QUOTES_HINT = "a quote inside a quoted value is doubled, and every quoted value ends with a quote"
_VALUE_HINT = "correct the value where it comes from"
_WHOLE_HINT = "write the file again, it is incomplete or of another format"

_FILE = re.compile(r"while reading file (.+?)\.\s")
# A source that cannot be reached is not a mistake of the data, and is worth another try.
_UNREACHABLE = re.compile(
    r"java\.net\.\w+(?:Exception|Error)|SocketTimeout|ConnectTimeout|UnknownHost|SdkClientException|SlowDown|"
    r"Connection re(set|fused)|FAILED_JDBC\.CONNECTION|Connection to .* refused|The connection attempt failed|"
    r"AccessControlException|AccessDenied|BlockMissing|StandbyException"
)

_WRONG_OPTION = re.compile(
    r"^(?:: )?java\.lang\.(?:NumberFormat|NegativeArraySize|IllegalArgument)Exception\b"
    r"|header flag can be true or false|Invalid value .* for parameter"
    r"|\[(?:OPTION_VALUE_|CODEC_NOT_AVAILABLE|INVALID_PARAMETER_VALUE)"
)

# PostgreSQL's driver.
NO_NUMBER = re.compile(r"Bad value for type \w+ : (NaN|-?Infinity)")


@dataclass(frozen=True, slots=True)
class ReadFailure:
    """Data that cannot be read: its code, what is wrong, the file where Spark names one."""

    code: Code
    reason: str
    hint: str | None = None
    file: str | None = None


@dataclass(frozen=True, slots=True)
class _Rule:
    pattern: re.Pattern[str]
    code: Code
    reason: str
    hint: str | None = None


def _rule(pattern: str, code: Code, reason: str, hint: str | None = None) -> _Rule:
    return _Rule(re.compile(pattern), code, reason, hint)


_RULES = (
    _rule(r"NANOS", "DATA_002", NANOSECONDS, NANOSECONDS_HINT),
    _rule(
        r"\[(?:DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION|UNSUPPORTED_TIME_TYPE)\] ([^\n]*?)\.?(?: SQLSTATE.*)?(?:\n|$)",
        "DATA_002",
        r"Spark has no such type of a column: \1",
        TYPE_HINT,
    ),
    _rule(
        r"Unsupported encoding: (BYTE_STREAM_SPLIT|\w+)",
        "DATA_002",
        r"a column is in the encoding \1, which Spark cannot read exactly",
        "write the column in another encoding; pyarrow: use_byte_stream_split=False",
    ),
    _rule(
        r"Class [\w.]*?\.(\w+?)Codec was not found|(?:codec|compression) (\w+) is not (?:available|supported)",
        "DATA_002",
        r"it is compressed with \1\2, for which Spark has no codec here",
        "compress it with zstd, snappy or gzip, or add the codec's jar to `spark.jars`",
    ),
    _rule(
        r"reading Parquet column (\[.+?\])\. Expected Spark type (.+?), actual Parquet type (\w+(?: \(.+?\))?)\.",
        "DATA_002",
        r"column \1 is \3, in other files \2",
        f"{_TYPES_HINT}; timestamps in microseconds",
    ),
    _rule(
        r"\[(?:PARQUET_TYPE|CANNOT_MERGE|_LEGACY_ERROR_TEMP_2063)[A-Z_.]*\] ([^\n]*)", "DATA_002", r"\1", _TYPES_HINT
    ),
    _rule(
        r"CSV header does not conform to the schema\.(?s:.)*?Expected: (.*?) but found: (.*?)\n",
        "DATA_002",
        r"the header of a CSV file is not like that of the others: expected \1, found \2",
        _HEADER_HINT,
    ),
    _rule(
        r"Number of column in CSV header is not equal(?s:.)*?Header length: (\d+), schema size: (\d+)",
        "DATA_002",
        r"the header of a CSV file is not like that of the others: \1 columns, not \2",
        _HEADER_HINT,
    ),
    _rule(
        r"(?:Unescaped quote character|Unexpected character .{1,4} following quoted)(?s:.)*?content parsed=([^\n]*)",
        "DATA_003",
        r"quotes are not closed or not doubled at: \1",
        _QUOTES_HINT,
    ),
    _rule(r"\[MALFORMED_CSV_RECORD\] Malformed CSV record: ([^\n]*)", "DATA_003", r"malformed record: \1", _SHAPE_HINT),
    _rule(r"(?:JsonParseException|CharConversionException): (Invalid UTF-[^\n]*)", "DATA_003", r"\1", ENCODING_HINT),
    _rule(
        r"Json(?:Parse|EOF)Exception: ([^\n]*)",
        "DATA_003",
        r"malformed record: \1",
        "write one JSON object a line, or set the datasource option `multiLine: true`",
    ),
    _rule(
        r"\[MALFORMED_RECORD_IN_PARSING[A-Z_.]*\] ([^\n]*)",
        "DATA_003",
        r"\1",
        "repair the file, or its options in the datasource",
    ),
    _rule(
        r"(is not a Parquet file|is not an? ORC file|Malformed ORC file|Could not read footer|Invalid postscript"
        r"|Unexpected end of input stream|InvalidProtocolBufferException|EOFException"
        r"|ChecksumException)",
        "DATA_001",
        r"it is incomplete or of another format (\1)",
        _WHOLE_HINT,
    ),
    _Rule(NO_NUMBER, "DATA_003", r"\1 is not a number that a decimal holds", _VALUE_HINT),
    _rule(r"Permission denied", "DATA_001", "permission denied", "let the job's user read it"),
    _rule(
        r"FILE_NOT_EXIST|FileNotFoundException|PATH_NOT_FOUND",
        "DATA_001",
        "a file is gone",
        "do not change a location's files while a run reads them; run again",
    ),
)


def is_unreachable(text: str) -> bool:
    """Return whether a store or a database could not be asked at all."""
    return _UNREACHABLE.search(text) is not None


def find_wrong_option(texts: list[str]) -> str | None:
    """Return what Spark says of an option's value, which no retry makes better; None when it says something else.

    The driver looks at options; what goes wrong in tasks, or was raised on purpose, is about rows.
    """
    if any("Job aborted" in text or RAISED_PREFIX in text for text in texts) or is_unreachable("\n".join(texts)):
        return None
    return next((shorten(text.removeprefix(": ")) for text in texts if _WRONG_OPTION.search(text)), None)


_SQLSTATE = re.compile(r" *SQLSTATE: \w+$")


def find_read_failure(text: str) -> ReadFailure | None:
    """Return what is wrong with the data; None when the text is about something else."""
    if is_unreachable(text):
        return None
    named = _FILE.search(text)
    file = named[1] if named else None
    for rule in _RULES:
        match = rule.pattern.search(text)
        if match is not None:
            reason = _SQLSTATE.sub("", match.expand(rule.reason))
            return ReadFailure(rule.code, shorten(reason), rule.hint, file)
    if "[FAILED_READ_FILE" in text:
        return ReadFailure("DATA_001", shorten(f"it is damaged: {_find_deepest(text)}"), _WHOLE_HINT, file)
    return None


def _find_deepest(text: str) -> str:
    causes = re.findall(r"Caused by: ([^\n]*)", text)
    return causes[-1] if causes else text.splitlines()[0]
