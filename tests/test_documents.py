"""What `recollect.documents` promises: passages along a document's structure, and no character lost."""

from __future__ import annotations

import pytest

from recollect.documents import split, title_of
from recollect.errors import InvalidInput


def texts(source: str, *, target: int = 900, limit: int = 1600) -> list[str]:
    return [passage.text for passage in split(source, target=target, limit=limit)]


def outline(source: str) -> list[tuple[tuple[str, ...], str]]:
    return [(passage.headings, passage.text) for passage in split(source)]


def without_blanks(text: str) -> str:
    return "".join(text.split())


class TestHeadings:
    def test_a_passage_knows_the_path_of_headings_above_it(self) -> None:
        source = (
            "# Guide\n\nWelcome.\n\n## Installing\n\nRun it.\n\n### Windows\n\nClick.\n\n## Using\n\nType.\n"
        )
        assert outline(source) == [
            (("Guide",), "Welcome."),
            (("Guide", "Installing"), "Run it."),
            (("Guide", "Installing", "Windows"), "Click."),
            (("Guide", "Using"), "Type."),
        ]

    def test_underlined_headings_have_levels_one_and_two(self) -> None:
        source = "Guide\n=====\n\nWelcome.\n\nInstalling\n---\nRun it.\n"
        assert outline(source) == [(("Guide",), "Welcome."), (("Guide", "Installing"), "Run it.")]

    def test_levels_may_be_skipped(self) -> None:
        assert outline("# A\n\n#### B\n\nx\n\n## C\n\ny") == [(("A", "B"), "x"), (("A", "C"), "y")]

    def test_a_heading_needs_no_blank_lines_around_it(self) -> None:
        assert outline("before\n# A\nafter") == [((), "before"), (("A",), "after")]

    @pytest.mark.parametrize(
        ("line", "title"),
        [
            ("# Closed #", "Closed"),
            ("## Closed too ######  ", "Closed too"),
            ("# About C#", "About C#"),
            ("   ###### Indented", "Indented"),
            ("# The `split` **function**", "The split function"),
            ("# See [the guide](https://example.org/guide)", "See the guide"),
            ("# __init__", "__init__"),
            ("#\tTab", "Tab"),
        ],
    )
    def test_headings_are_given_as_plain_text(self, line: str, title: str) -> None:
        assert outline(f"{line}\n\nbody") == [((title,), "body")]

    @pytest.mark.parametrize(
        "line",
        [
            "#hashtag",
            "####### seven",
            "    # indented code",
            "#",
            "##  ",
            "> # quoted",
            "\\# escaped",
            "# " + "x" * 301,
        ],
    )
    def test_what_is_not_a_heading_is_text(self, line: str) -> None:
        assert outline(f"{line}\n\nbody") == [((), f"{line}\n\nbody")]

    @pytest.mark.parametrize("above", ["two\nlines", "- item", "> quote", "| a | b |", "***", "    code"])
    def test_a_rule_below_something_other_than_a_lone_line_makes_no_heading(self, above: str) -> None:
        assert outline(f"{above}\n---\nbody") == [((), f"{above}\n---\nbody")]

    def test_a_heading_with_nothing_below_it_is_a_passage(self) -> None:
        assert outline("# A\n\n## To do\n\n## Done\n\nIt works.\n\n## Later ##\n") == [
            (("A",), "## To do"),
            (("A", "Done"), "It works."),
            (("A",), "## Later ##"),
        ]

    def test_a_heading_with_only_headings_below_it_is_in_their_paths(self) -> None:
        assert outline("# A\n\n## B\n\ntext") == [(("A", "B"), "text")]
        assert outline("A\n=\n\nB\n-\n") == [(("A",), "B\n-")]


class TestFences:
    @pytest.mark.parametrize(
        "block",
        [
            "```\n# no heading\n```",
            "~~~ python\n# no heading\n```\n# still code\n~~~",
            "`````\n```\n# no heading\n```\n`````",
            "```\n# no heading\n    ```\n# still code\n```",
            "   ```\n# no heading\n  ```",
            "```\nTitle\n=====\n\n\n\n# code\n```",
            "```\n# never closed\n\n# at all",
        ],
    )
    def test_headings_inside_code_are_code(self, block: str) -> None:
        assert outline(f"# A\n\n{block}") == [(("A",), block)]

    @pytest.mark.parametrize(
        "item",
        [
            "- Do this:\n\n  ```sh\n  # comment\n  ```",
            "1. ```sh\n   # comment\n   ```",
            "* a\n\n      ~~~\n# x\n      ~~~",
        ],
    )
    def test_code_inside_a_list_item_belongs_to_the_item(self, item: str) -> None:
        assert texts(f"{item}\n\n{'word ' * 4}", target=10, limit=80) == [item, ("word " * 4).strip()]

    def test_inline_code_of_three_backticks_opens_nothing(self) -> None:
        assert outline("```inline``` code\n\n# A\n\nb") == [((), "```inline``` code"), (("A",), "b")]


class TestSizes:
    def test_blocks_under_one_heading_are_joined_up_to_the_target(self) -> None:
        paragraphs = [letter * 100 for letter in "abcde"]
        joined = texts("\n\n".join(paragraphs), target=210, limit=400)
        assert joined == ["\n\n".join(paragraphs[:2]), "\n\n".join(paragraphs[2:4]), paragraphs[4]]

    def test_a_short_lead_in_stays_with_what_it_introduces(self) -> None:
        code = "```\n" + "x = 1\n" * 30 + "```"
        assert texts(f"For example:\n\n{code}", target=100, limit=400) == [f"For example:\n\n{code}"]

    @pytest.mark.parametrize(
        "block",
        [
            "One sentence. " * 14 + "The end.",
            "```\n" + "print('hello. ')\n\n" * 10 + "```",
            "| a | b |\n|---|---|\n" + "| 1. | 2. |\n" * 14 + "| 3 | 4 |",
            "- item\n  continues. Here\n\n  " + "And here. " * 12 + "\n  - nested\n    1. deeper",
        ],
    )
    def test_a_block_that_fits_in_the_limit_stays_whole(self, block: str) -> None:
        around = "x" * 90
        assert texts(f"{around}\n\n{block}\n\n{around}", target=100, limit=220) == [around, block, around]

    def test_a_longer_paragraph_is_cut_at_sentence_ends(self) -> None:
        source = "Is this long? It is! And so on (really.) " * 20
        passages = texts(source, target=60, limit=90)
        assert all(passage.endswith(("?", "!", ".)")) for passage in passages)

    def test_chinese_sentences_need_no_space_between_them(self) -> None:
        passages = texts("我们决定使用数据库。这样更好！对吗？" * 20, target=40, limit=60)
        assert all(passage[-1] in "。！？" for passage in passages)

    def test_without_sentences_it_is_cut_at_line_ends(self) -> None:
        assert texts("one two\nthree four\nfive six\n", target=12, limit=14) == [
            "one two",
            "three four",
            "five six",
        ]

    def test_without_lines_it_is_cut_at_spaces(self) -> None:
        assert texts("one two three four", target=9, limit=11) == ["one two", "three four"]

    def test_without_spaces_it_is_cut_anywhere(self) -> None:
        assert texts("abcdefghij", target=4, limit=5) == ["abcd", "efgh", "ij"]

    def test_long_code_and_tables_are_cut_at_line_ends_and_keep_their_indentation(self) -> None:
        line = "    call('One. Two. Three.')"
        passages = texts("```\n" + f"{line}\n" * 20 + "```", target=100, limit=150)
        assert len(passages) > 3
        assert all(set(passage.splitlines()) <= {line, "```"} for passage in passages)

    def test_a_long_list_item_is_cut_between_its_nested_items(self) -> None:
        nested = [f"  - nested item {number}. With more words" for number in range(10)]
        passages = texts("- item\n" + "\n".join(nested), target=100, limit=150)
        assert [line for passage in passages for line in passage.splitlines()] == ["- item", *nested]

    @pytest.mark.parametrize("sizes", [{"target": 0}, {"limit": 0}, {"target": -1}])
    def test_sizes_below_one_are_refused(self, sizes: dict[str, int]) -> None:
        with pytest.raises(InvalidInput):
            split("text", **sizes)


class TestPlainText:
    def test_nothing_gives_no_passages(self) -> None:
        assert split("") == split(" \n\t\r\n\u3000") == split("\ufeff") == []

    def test_text_without_headings_is_split_at_blank_lines(self) -> None:
        assert texts("one\nline\n \n\n  two", target=8, limit=8) == ["one\nline", "  two"]

    def test_windows_and_old_mac_line_ends_are_understood_and_kept(self) -> None:
        for end in ("\r\n", "\r"):
            assert outline(end.join(["# A", "", "one", "two", "", "B", "---", "", "c"])) == [
                (("A",), f"one{end}two"),
                (("A", "B"), "c"),
            ]

    def test_a_year_at_the_start_of_a_line_is_no_list_item(self) -> None:
        source = "It all began in the year\n1985. Then it went on."
        assert texts(source, target=10, limit=60) == [source]


class TestFrontMatter:
    SOURCE = "---\ntitle: Field notes\ntags:\n  - a\n- b\n\n# comment\n---\n\n# Heading\n\nText.\n"

    @pytest.mark.parametrize("prefix", ["", "\ufeff"])
    def test_it_is_no_passage(self, prefix: str) -> None:
        assert outline(prefix + self.SOURCE) == [(("Heading",), "Text.")]

    @pytest.mark.parametrize(
        "source", ["---\n\nText: one\n\n---", "---\nkey: value", "---\nIt is prose.\n\n---", "---\n---"]
    )
    def test_text_between_rules_is_not_front_matter(self, source: str) -> None:
        assert without_blanks("".join(texts(source))) == without_blanks(source)


class TestTitle:
    @pytest.mark.parametrize(
        ("source", "title"),
        [
            (TestFrontMatter.SOURCE, "Field notes"),
            (TestFrontMatter.SOURCE.replace("Field notes", "'A: b' # c").replace("\n", "\r\n"), "A: b"),
            ("---\nTitle: Notes # draft\n...\n", "Notes"),
            ("---\ntags: a\n---\ntext\n\n## First\n\n# Second", "First"),
            ("---\ntitle: ''\n---\nSetext\n===", "Setext"),
            ("```\n# code\n```", "fallback"),
            ("title: not front matter", "fallback"),
            ("", "fallback"),
        ],
    )
    def test_title(self, source: str, title: str) -> None:
        assert title_of(source, "fallback") == title
