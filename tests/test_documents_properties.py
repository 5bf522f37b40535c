"""What holds for every document that `recollect.documents` splits: no character lost, and linear time."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.documents import Passage, split, title_of


def without_blanks(text: str) -> str:
    return "".join(text.split())


def assert_well_formed(source: str, passages: list[Passage], limit: int) -> None:
    """Check what holds for every document: order, spans, sizes, and no blank lines at the ends."""
    end_before = 0
    for position, passage in enumerate(passages):
        start, end = passage.span
        assert passage.position == position
        assert end_before <= start < end
        assert source[start:end] == passage.text
        assert len(passage.text) <= limit
        assert passage.text == passage.text.rstrip()
        assert re.split(r"[\r\n]", passage.text)[0].strip()
        end_before = end


def gaps(source: str, passages: list[Passage]) -> list[str]:
    """Return what stands between the passages."""
    edges = [0, *(edge for passage in passages for edge in passage.span), len(source)]
    return [source[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True)]


sizes = st.tuples(st.integers(1, 60), st.integers(1, 80))
words = st.text("ab é中。.!-*|1`~#> \t", min_size=1, max_size=30).map(lambda text: "w" + text)
paragraphs = st.lists(words, min_size=1, max_size=4).map("\n".join)
code = st.tuples(st.sampled_from(["```", "~~~~"]), st.text("# a\n=-.", max_size=60)).map(
    lambda parts: f"{parts[0]}\n{parts[1]}\n{parts[0]}"
)
items = st.tuples(st.sampled_from(["- ", "* ", "1. ", "  - "]), words).map("".join)
tables = st.lists(words, max_size=4).map(
    lambda rows: "| a | b |\n|---|---|" + "".join(f"\n| {row} |" for row in rows)
)
bodies = st.lists(st.one_of(paragraphs, code, items, tables), min_size=1, max_size=3).map("\n\n".join)
titles = st.text("abc é中", min_size=1, max_size=20).map(lambda text: "T" + text.strip())
sections = st.tuples(st.integers(1, 6), st.booleans(), titles, bodies)


@given(st.lists(sections, max_size=6), sizes, st.sampled_from(["\n", "\r\n"]))
def test_generated_markdown_appears_whole_and_in_order(
    document: list[tuple[int, bool, str, str]], sizes: tuple[int, int], line_end: str
) -> None:
    source = ""
    for level, underlined, title, body in document:
        heading = f"{title}\n===" if underlined else f"{'#' * level} {title}"
        source += f"{heading}\n\n{body}\n\n"
    source = source.replace("\n", line_end)
    passages = split(source, target=sizes[0], limit=sizes[1])
    assert_well_formed(source, passages, sizes[1])
    expected = "".join(without_blanks(body) for *_, body in document)
    assert without_blanks("".join(passage.text for passage in passages)) == expected
    assert {passage.headings[-1] for passage in passages} == {title for _, _, title, _ in document}


@given(st.text(), sizes)
def test_any_text_appears_whole_except_for_headings(source: str, sizes: tuple[int, int]) -> None:
    check_gaps(source, sizes)


@given(st.text("#=-`~|>*1. \t\r\na:\ufeff。", max_size=120), sizes)
def test_any_text_of_marks_appears_whole_except_for_headings(source: str, sizes: tuple[int, int]) -> None:
    check_gaps(source, sizes)


LINE_END = re.compile(r"\r\n|\r|\n")
ATX_HEADING = re.compile(r"\s*#{1,6}\s+\S.*", re.DOTALL)
UNDERLINE = re.compile(r"\s*(=+|-+)\s*")


def only_headings(gap: str) -> bool:
    """Tell whether a gap consists of blank lines, lines with # marks, and underlined lines."""
    lines = [line for line in LINE_END.split(gap) if line.strip() and not ATX_HEADING.fullmatch(line)]
    return len(lines) % 2 == 0 and all(UNDERLINE.fullmatch(line) for line in lines[1::2])


def check_gaps(source: str, sizes: tuple[int, int]) -> None:
    passages = split(source, target=sizes[0], limit=sizes[1])
    assert_well_formed(source, passages, sizes[1])
    assert title_of(source, "fallback").strip()
    first, *others = gaps(source, passages)
    first = first.removeprefix("\ufeff")
    assert only_headings(first) or re.match(r"---\s*\w.*:", first)
    assert all(only_headings(gap) for gap in others)


@given(st.text(st.characters(exclude_characters="#=-\ufeff"), max_size=300), sizes)
def test_any_text_without_headings_appears_whole(source: str, sizes: tuple[int, int]) -> None:
    passages = split(source, target=sizes[0], limit=sizes[1])
    assert_well_formed(source, passages, sizes[1])
    assert without_blanks("".join(passage.text for passage in passages)) == without_blanks(source)


CLOSELY_REPEATED = (
    *("." * 99, "x" * 99, "word " * 20, "中文。" * 30, " " * 99, "\n" * 99, "[a](" * 20, "---\nkey: value\n"),
    *("# heading\n\ntext\n\n", "- item\n", "```\n" + "code\n" * 20, "| a | b |\n"),
)


@pytest.mark.parametrize("unit", CLOSELY_REPEATED)
def test_time_is_proportional_to_length(unit: str) -> None:
    source = unit * (1_000_000 // len(unit))
    started = time.process_time()
    split(source)
    assert time.process_time() - started < 10
