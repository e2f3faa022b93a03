"""YAML text to trees whose every node knows its place.

A document that is not YAML does not take its neighbours with it: the file is then read again, document by document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import yaml

from airflow_provider_runtime.core.catalog.files import MAX_FILE_BYTES
from airflow_provider_runtime.core.catalog.source_text import SourceText
from airflow_provider_runtime.core.catalog.yaml_composer import Composer, UnreadableError
from airflow_provider_runtime.core.catalog.yaml_nodes import Document, Node
from airflow_provider_runtime.core.errors import Place, Problem

UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
DOCUMENT_MARKER = re.compile(r"^---(?=\s|$)|^\.\.\.(?=\s|$)", re.MULTILINE)
QUOTED_PART = re.compile(r""":\s+(?:'(?:[^']|'')*+'|"(?:[^"\\]|\\.)*+")\s*[^\s,}\]#:]""")
"""A value that goes on after its quotes."""
__all__ = ["Document", "Node", "ParsedFile", "parse_bytes", "parse_text"]


@dataclass(slots=True)
class ParsedFile:
    """All documents of a file and what is wrong with them as YAML."""

    documents: list[Document] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    """Texts of the parts that are not YAML."""


def parse_bytes(data: bytes, name: str) -> ParsedFile:
    """Read the documents of a file."""
    if len(data) > MAX_FILE_BYTES:
        return _refuse_file(name, f"file is larger than {MAX_FILE_BYTES // 2**20} MiB", "split it into several files")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        location = Place(file=name, line=line, column=column)
        problem = Problem("CATALOG_001", "file is not UTF-8", "save it in the encoding UTF-8", location)
        return ParsedFile(problems=[problem], unread=[data.decode("utf-8", "replace")])
    return parse_text(text, name)


def parse_text(text: str, name: str) -> ParsedFile:
    """Read the documents of a text."""
    source = SourceText(name, text)
    parsed = ParsedFile()
    try:
        parsed.documents = _read_documents(source, 0, len(text), parsed.problems)
        return parsed
    except UnreadableError:
        parsed = ParsedFile()
    for start, end in _split_documents(text):
        try:
            parsed.documents += _read_documents(source, start, end, parsed.problems)
        except UnreadableError as error:
            location = source.locate(error.offset)
            parsed.problems.append(Problem("CATALOG_001", error.message, error.hint, location))
            parsed.unread.append(text[start:end])
    return parsed


def _refuse_file(name: str, message: str, hint: str) -> ParsedFile:
    return ParsedFile(problems=[Problem("CATALOG_001", message, hint, Place(file=name))])


def _split_documents(text: str) -> Iterator[tuple[int, int]]:
    """Yield the stretches between document markers, directives and comments together with what follows them."""
    bounds = [match.start() for match in DOCUMENT_MARKER.finditer(text)]
    start = 0
    for bound in bounds:
        lines = text[start:bound].splitlines()
        if all(not line.strip() or line.startswith(("#", "%")) for line in lines):
            continue
        yield start, bound
        start = bound
    yield start, len(text)


def _read_documents(source: SourceText, start: int, end: int, problems: list[Problem]) -> list[Document]:
    chunk = source.text if (start, end) == (0, len(source.text)) else source.text[start:end]
    bad = UNPRINTABLE.search(chunk)
    if bad:
        raise UnreadableError(f"character U+{ord(bad[0]):04X} is not allowed in YAML", start + bad.start(), "remove it")
    found: list[Problem] = []
    try:
        documents = list(Composer(source, chunk, start, found).compose())
    except yaml.MarkedYAMLError as error:
        raise _translate_yaml_error(error, source, start, chunk) from error
    except (yaml.YAMLError, UnicodeError, ValueError) as error:
        raise UnreadableError("not valid YAML", start) from error
    problems.extend(found)
    return documents


def _translate_yaml_error(error: yaml.MarkedYAMLError, source: SourceText, start: int, chunk: str) -> UnreadableError:
    last = max(0, len(chunk.rstrip()) - 1)
    mark = error.problem_mark or error.context_mark
    place = mark.index if mark else 0
    message = _describe_yaml_error(error)
    if chunk[place : place + 1] == "\t" and not chunk[chunk.rfind("\n", 0, place) + 1 : place].strip():
        return UnreadableError("not valid YAML: a tab in the indentation", start + place, "indent with spaces")
    if place > last and error.context_mark:
        # Something is not closed: where it begins says more than the end of the text.
        return UnreadableError(message, start + min(error.context_mark.index, last), "what begins here is not closed")
    if (opening := _find_unclosed(error)) is not None:
        line = source.locate(start + place).line
        hint = f"what begins here is not closed, or a comma is missing before line {line}"
        return UnreadableError(message, start + opening, hint)
    offset = start + min(place, last)
    return UnreadableError(message, offset, _hint_yaml_error(source.text, offset))


def _find_unclosed(error: yaml.MarkedYAMLError) -> int | None:
    """Return where brackets begin that a later line breaks."""
    begin, end = error.context_mark, error.problem_mark
    is_flow = (error.context or "").startswith("while parsing a flow")
    return begin.index if is_flow and begin and end and begin.line < end.line else None


def _describe_yaml_error(error: yaml.MarkedYAMLError) -> str:
    parts = [part for part in (error.context, error.problem) if part]
    return "not valid YAML: " + (", ".join(parts) or "cannot be parsed")


def _hint_yaml_error(text: str, offset: int) -> str:
    following = text[offset : offset + 1]
    line = text[text.rfind("\n", 0, offset) + 1 : offset]
    if "expression: " in line and "{" in line and _is_open(line.rpartition("expression: ")[2]):
        return "put the expression into quotes: inside { } a comma ends it"
    if QUOTED_PART.search(line + text[offset:].partition("\n")[0]):
        return "the quotes end before the value does: put all of it into quotes"
    if following == "\t":
        return "indent with spaces, not with tabs"
    if following in {"@", "`", "%", "*", "&", "!", "{", "["}:
        return f"put a text that begins with '{following}' into quotes"
    return "check indentation, quotes and brackets here and in the line above"


def _is_open(text: str) -> bool:
    """Whether a value that is not quoted has brackets that are not closed."""
    return text[:1] not in "\"'" and text.count("(") > text.count(")")
