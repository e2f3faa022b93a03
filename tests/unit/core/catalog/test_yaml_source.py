"""YAML to values with places: the 1.2 core schema, anchors, limits."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_runtime.core.catalog.definition import SourceMap
from airflow_provider_runtime.core.catalog.scalars import TextDecimal, TextInteger, resolve_plain
from airflow_provider_runtime.core.catalog.yaml_source import MAX_FILE_BYTES, ParsedFile, parse_bytes, parse_text
from airflow_provider_runtime.core.model.base import Flag, to_plain


def read(text: str) -> object:
    parsed = parse_text(text, "a.yaml")
    assert parsed.problems == []
    root = parsed.documents[0].root
    assert root is not None
    return to_plain(root.to_value())


def messages(parsed: ParsedFile) -> list[str]:
    return [problem.message for problem in parsed.problems]


@pytest.mark.parametrize(
    "text", ["on", "off", "yes", "NO", "y", "n", "12:30", "2026-01-31", "1_000", "0b11", "1e", "."]
)
def test_plain_scalar_of_yaml_1_1_stays_text(text: str) -> None:
    assert resolve_plain(text) == text


def test_plain_true_is_flag_with_its_text() -> None:
    assert resolve_plain("true") == Flag(True, "true")


def test_plain_number_with_point_is_exact_decimal() -> None:
    value = resolve_plain("0.10")
    assert isinstance(value, TextDecimal)
    assert value == Decimal("0.10")
    assert value.text == "0.10"


def test_plain_integer_keeps_its_text() -> None:
    value = resolve_plain("007")
    assert isinstance(value, TextInteger)
    assert (value, value.text) == (7, "007")


@pytest.mark.parametrize("text", ["", "~", "null", "NULL"])
def test_plain_null_is_none(text: str) -> None:
    assert resolve_plain(text) is None


@pytest.mark.parametrize("text", ["9" * 5000, "1e999999999999999999999"])
def test_plain_number_beyond_limits_stays_text(text: str) -> None:
    assert resolve_plain(text) == text


def test_key_on_is_text() -> None:
    assert read("on: 1") == {"on": 1}


def test_key_true_is_its_text() -> None:
    assert read("true: 1") == {"true": 1}


def test_explicit_keys_and_earlier_mappings_win_in_a_merge() -> None:
    text = "a: &a {x: 1, y: 1}\nb: &b {y: 2, z: 2}\nc: {<<: [*a, *b], x: 3}\n"
    assert read(text)["c"] == {"x": 3, "y": 1, "z": 2}  # type: ignore[call-overload, index]


def test_quoted_merge_key_is_ordinary() -> None:
    assert read('{"<<": 1}') == {"<<": 1}


def test_byte_order_mark_is_skipped() -> None:
    assert parse_bytes(b"\xef\xbb\xbfa: 1", "a.yaml").problems == []


def test_file_that_is_not_utf8_is_reported_with_its_line() -> None:
    problem = parse_bytes(b"a: 1\nb: \xff\n", "a.yaml").problems[0]
    assert (problem.code, problem.location.line) == ("CATALOG_001", 2)
    assert "UTF-8" in problem.message


def test_utf16_file_is_refused() -> None:
    assert parse_bytes("a: 1".encode("utf-16"), "a.yaml").problems[0].code == "CATALOG_001"


def test_huge_file_is_refused_unread() -> None:
    assert "larger than" in parse_bytes(b" " * (MAX_FILE_BYTES + 1), "a.yaml").problems[0].message


def test_alias_bomb_is_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    assert "aliases expand" in messages(parse_text("\n".join(lines), "a.yaml"))[0]


@pytest.mark.parametrize("text", ["[" * 100_000, "{a: " * 50_000, "- " * 50_000, "? " * 50_000])
def test_deep_nesting_is_refused(text: str) -> None:
    assert len(parse_text(text, "a.yaml").problems) == 1


def test_neighbours_of_a_broken_document_are_read() -> None:
    parsed = parse_text("a: 1\n---\nb: [1\n---\nc: 'x\n---\nd: 4\n", "a.yaml")
    roots = [document.root.to_value() for document in parsed.documents if document.root is not None]
    assert [list(root) for root in roots if isinstance(root, dict)] == [["a"], ["d"]]
    assert [problem.location.line for problem in parsed.problems] == [3, 5]


def test_line_separators_of_unicode_do_not_shift_lines() -> None:
    parsed = parse_text("a: 'x\u2028y'\nb: !t 1\n", "a.yaml")
    assert parsed.problems[0].location.line == 2


def test_carriage_returns_count_as_lines() -> None:
    assert parse_text("a: 1\r\nb: 2\r\nc: !t 1\r\n", "a.yaml").problems[0].location.line == 3


SPANS = {
    "plain": ("k: amount + x * 2\n", "x", (1, 13)),
    "plain over two lines": ("k: amount +\n   x * 2\n", "x", (2, 4)),
    "single quoted": ("k: 'a = ''b'' AND x'\n", "x", (1, 19)),
    "double quoted": ('k: "a = \\"b\\" AND x"\n', "x", (1, 19)),
    "double quoted with unicode": ('k: "\\u00e9\\x41 x"\n', "x", (1, 16)),
    "double quoted continued": ('k: "a \\\n   b x"\n', "x", (2, 6)),
    "double quoted folded": ('k: "a\n\n   b x"\n', "x", (3, 6)),
    "literal": ("k: |\n  a\n    b\n  c x\n", "x", (4, 5)),
    "literal with indicator": ("k: |2-\n    a\n  c x\n", "x", (3, 5)),
    "literal with indicator and spaces first": ("k: |2\n   \n  x\n", "x", (3, 3)),
    "folded": ("k: >-\n  a\n  b\n\n  c x\n", "x", (5, 5)),
    "folded with deeper lines": ("k: >\n  a\n    b\n  c x\n", "x", (4, 5)),
    "plain behind an anchor": ("k: &a amount + x\n", "x", (1, 16)),
    "quoted behind an anchor": ("k: &a\n  'b ''c'' x'\n", "x", (2, 12)),
    "literal behind an anchor": ("k: &a |\n  b\n  x\n", "x", (3, 3)),
    "alias": ("j: &a amount + x\nk: *a\n", "x", (1, 16)),
}


@pytest.mark.parametrize(("text", "wanted", "place"), SPANS.values(), ids=SPANS.keys())
def test_span_in_scalar_maps_to_its_place_in_the_file(text: str, wanted: str, place: tuple[int, int]) -> None:
    document = parse_text(text, "a.yaml").documents[0]
    source = SourceMap(document.source, document.root)
    node, _ = source.find_node(("k",))
    assert node is not None
    start = node.text.index(wanted)
    location = source.locate_span(("k",), start, start + len(wanted))
    assert (location.line, location.column, location.end_column) == (*place, place[1] + 1)


@given(
    st.text(alphabet="ab '\"\\\n\té😀#:-", min_size=1, max_size=30), st.sampled_from(["single", "double", "literal"])
)
def test_span_of_any_text_maps_to_the_same_character(value: str, style: str) -> None:
    text = write(value, style)
    document = parse_text(text, "a.yaml").documents[0]
    source = SourceMap(document.source, document.root)
    node, _ = source.find_node(("k",))
    assert node is not None
    lines = text.split("\n")
    for index, character in enumerate(node.text):
        location = source.locate_span(("k",), index, index + 1)
        shown = lines[location.line - 1][location.column - 1 :][:1]
        assert shown == character or character in " \n\t" or shown == "\\"


def write(value: str, style: str) -> str:
    if style == "single":
        return "k: '" + value.replace("'", "''").replace("\n", "\n\n  ").replace("\t", " ") + "'\n"
    if style == "double":
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
        return f'k: "{escaped}"\n'
    return "k: |2\n" + "".join(f"  {line}\n" for line in value.split("\n"))


@given(st.text(max_size=200))
def test_any_text_gives_documents_or_problems(text: str) -> None:
    parsed = parse_text(text, "a.yaml")
    assert all(problem.code in {"CATALOG_001", "CATALOG_002"} for problem in parsed.problems)


@given(st.binary(max_size=200))
def test_any_bytes_give_documents_or_problems(data: bytes) -> None:
    parse_bytes(data, "a.yaml")


@given(st.text(alphabet="ab:-[]{},&*!|>'\"%@#? \n\t<~0", max_size=60))
def test_any_yaml_like_text_gives_documents_or_problems(text: str) -> None:
    parsed = parse_text(text, "a.yaml")
    lines = text.count("\n") + 1
    assert all(1 <= problem.location.line <= lines for problem in parsed.problems)


def test_deep_nesting_through_aliases_is_refused() -> None:
    lines = ["a0: &a0 " + "[" * 60 + "]" * 60]
    lines += [f"a{number}: &a{number} {'[' * 60}*a{number - 1}{']' * 60}" for number in range(1, 4)]
    assert "nested deeper" in messages(parse_text("\n".join(lines), "a.yaml"))[0]


def test_too_many_values_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("airflow_provider_runtime.core.catalog.yaml_composer.MAX_NODES", 100)
    assert "more than 100 values" in messages(parse_text(f"a: [{'1,' * 200}]", "a.yaml"))[0]


def test_many_duplicate_keys_are_bounded() -> None:
    assert len(parse_text("a: 1\n" * 1000, "a.yaml").problems) == 100


@pytest.mark.parametrize(
    ("text", "place", "hint"),
    [
        (
            "a:\n  - {x: 1, y: 2\n  - {x: 3}\n",
            (2, 5),
            "what begins here is not closed, or a comma is missing before line 3",
        ),
        ("a: [1, 2\nb: 3\n", (1, 4), "what begins here is not closed, or a comma is missing before line 2"),
        ("a: {x: 'c.d' * 2}\n", (1, 15), "the quotes end before the value does: put all of it into quotes"),
        ("a: 'c' || 'd'\n", (1, 9), "the quotes end before the value does: put all of it into quotes"),
    ],
)
def test_what_is_not_closed_is_reported_where_it_begins(text: str, place: tuple[int, int], hint: str) -> None:
    (problem,) = parse_text(text, "a.yaml").problems
    assert problem.hint == hint
    assert (problem.location.line, problem.location.column) == place


@pytest.mark.parametrize(
    "line",
    [
        "options: {password: hunter2}",
        "url: 'jdbc:x://u:hunter2@h'",
        "fs.s3a.secret.key: hunter2",
        "accesskey: hunter2",
        "PassWord: hunter2",
    ],
)
def test_line_with_secret_is_not_shown(line: str) -> None:
    text = f"a: 1\n{line}\n"
    document = parse_text(text, "a.yaml").documents[0]
    assert document.source.locate(text.index(line)).source_line is None


def test_endless_line_is_not_shown() -> None:
    document = parse_text("a: " + "x" * 5000, "a.yaml").documents[0]
    assert document.source.locate(3).source_line is None


@pytest.mark.parametrize(
    "value",
    [
        "{{password: {0}}}", "{{password: [{0}]}}", "{{password: {{x: {0}}}}}", "\n  password:\n  - {0}",
        "\n  password:\n    {0}", "\n  password:\n\n    # why\n    - x: {0}", "{{password: [x,\n  {0}]}}",
        "\n  - password:\n      {0}\n    other: 1", "{{credentials: {0}}}", "{{credential_rf: {0}}}",
        "{{headers: {{Authorization: {0}}}}}", "{{x: 'Bearer {0}'}}", "jdbc:oracle:thin:scott/{0}@h",
        "{{api_key: [{0}]}}", "{{s3.key: [{0}]}}", "{{key: {0}}}",
        '{{"credential_ref": "{0}", bogus: 1}}', "{{auth: {0}}}", "{{auth: [{0}]}}", "\n  auth:\n    {0}",
        "'https://x/?sig={0}&t={{{{tabel}}}}'", "'ftp://{0}@x'", "\n  api_key:\n    '{0}{{{{tabel}}}}'",
    ],
)  # fmt: skip
def test_line_that_may_show_a_secret_is_not_shown_wherever_its_value_is(value: str) -> None:
    text = f"options: {value.format('hunter2')}\nlast: 1\n"
    (document,) = parse_text(text, "a.yaml").documents
    assert document.source.locate(text.index("hunter2")).source_line is None
    assert document.source.locate(text.index("last")).source_line == "last: 1"


@pytest.mark.parametrize("value", ["@hunter2", "%hunter2", '"hunter2', "hunter2: [", "!hunter2", "*hunter2"])
@pytest.mark.parametrize("blank", [" ", "\n      "])
def test_value_of_a_secret_that_is_not_yaml_is_not_repeated(value: str, blank: str) -> None:
    (problem,) = parse_text(f"datasource:\n  options:\n    password:{blank}{value}\n", "a.yaml").problems
    assert problem.location.source_line is None
    assert "hunter2" not in str(problem) + str(problem.hint)


@pytest.mark.parametrize(
    "line",
    [
        "author: ann", "path: abfss://box@account.dfs.core.windows.net/x", "natural_key_columns: [a, b]",
        "config: x", "bogus: https://h:80/x", "arguments: {key: [a, b], columns: [a]}",
    ],
)  # fmt: skip
def test_usual_line_is_shown(line: str) -> None:
    document = parse_text(f"credential_ref: env://X\n{line}\n", "a.yaml").documents[0]
    assert document.source.show_line(2) == line


def test_lines_are_those_of_yaml_and_end_with_the_file() -> None:
    source = parse_text("a: '\u2028\x85'\r\nb: 2", "a.yaml").documents[0].source
    assert [source.show_line(number) for number in (0, 1, 2, 3)] == [None, "a: '\u2028\x85'", "b: 2", None]
