from __future__ import annotations

from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from recollect.embed import wordpiece
from recollect.embed.wordpiece import WordPieces, words

VOCABULARY = (
    Path(__file__).parents[1] / "models" / "recollect-arctic-s" / "src" / "recollect_arctic_s" / "vocab.txt"
)

TEXTS = [
    "",
    " \t\r\n ",
    "The quick brown fox can't jump over the lazy dog's back (v1.2.3)!",
    "Café naïve façade Übergrößenträger Straße ŁÓDŹ İstanbul ıssız",
    "ΟΔΥΣΣΕΥΣ ΚΑΙ Η ΘΑΛΑΣΣΑ ς",
    "Съешь же ещё этих мягких французских булок, да выпей чаю — й Й",
    "我昨天在北京吃了烤鸭。豈更車賈滑 𠀋𪛖",
    "東京タワーへ行きました。ガギグゲゴ ｶﾞｷﾞ",
    "한국어 문장을 조각으로 나눕니다 각",
    "मैंने कल दिल्ली में खाना खाया। क़ख़",
    "ภาษาไทยไม่มีการเว้นวรรคระหว่างคำ น้ำ",
    "أنا أحبّ القهوة العربيّة، هل تحبّها؟ שָׁלוֹם עֲלֵיכֶם",
    "👩‍👩‍👧‍👦 🇩🇪 ❤️ 🤷🏽‍♂️ it's fine 🙂",
    "zero\x00byte bell\x07 soft\u00adhyphen zero\u200bwidth \ufeffbom \ufffd",
    "nbsp\u00a0line\u2028sep\x85 \x1c\x0b\x0c",
    "a" * 100 + " " + "b" * 101 + " " + "é" * 100 + " " + "é" * 101,
    "e\u0301\u0323 o\u0323\u0301 \u0301lone \u302e\u0301 \u0f73\u0f71 ﬁ ² ½ Ⅷ",
    "def f(x: int) -> str:\n    return f'{x!r}' # `~^|\\ $100 €5 £3 ¥7 №9 «quoted» “curly” …",
    "supercalifragilisticexpialidocious pneumonoultramicroscopicsilicovolcanoconiosis",
    "[UNK",
]


@cache
def reference() -> Any:
    numbers = {piece: n for n, piece in enumerate(VOCABULARY.read_text("utf-8").rstrip("\n").split("\n"))}
    tokenizer = Tokenizer(WordPiece(numbers, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = BertNormalizer(
        clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True
    )
    tokenizer.pre_tokenizer = BertPreTokenizer()
    return tokenizer


@cache
def ours() -> WordPieces:
    return WordPieces.from_file(VOCABULARY)


def expected(text: str) -> list[int]:
    numbers: list[int] = reference().encode(text).ids
    return numbers


def every_piece(text: str) -> list[int]:
    return ours().pieces(text, len(text) * 4 + 1)


@pytest.mark.parametrize("text", TEXTS)
def test_equals_the_reference_in_many_languages(text: str) -> None:
    assert every_piece(text) == expected(text)


@given(st.text())
def test_equals_the_reference_on_any_text(text: str) -> None:
    assert every_piece(text) == expected(text)


@given(st.text(alphabet=st.sampled_from("aÉe\u0301\u0323\u302e\u0f73 \u200d北.ΣİA\x07"), max_size=40))
def test_the_size_of_a_block_makes_no_difference(text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wordpiece, "_BLOCK", 3)
        assert every_piece(text) == expected(text)


@pytest.mark.parametrize("plane", [0, 1, 2, 14])
def test_equals_the_reference_on_every_character(plane: int) -> None:
    characters = (chr(code) for code in range(plane << 16, (plane + 1) << 16) if not 0xD800 <= code <= 0xDFFF)
    texts = [f"a{character}b" for character in characters]
    encoded = (encoding.ids for encoding in reference().encode_batch(texts))
    unequal = [text for text, numbers in zip(texts, encoded, strict=True) if every_piece(text) != numbers]
    assert unequal == []


def test_lone_surrogates_are_left_out_like_the_replacement_character() -> None:
    assert every_piece("one\ud800 two\udfff") == expected("one\ufffd two\ufffd") == expected("one two")


def test_special_tokens_written_in_a_text_are_only_text() -> None:
    assert every_piece("[SEP]") == expected("[SEP]")
    assert ours().encode("[SEP]", 512).count(102) == 1


def test_encode_frames_and_truncates() -> None:
    assert ours().encode("", 512) == [101, 102]
    assert ours().encode("one two three four", 4) == [101, 2028, 2048, 102]
    assert len(ours().encode("word " * 1000, 512)) == 512


@pytest.mark.parametrize("part", ["word ", "x", "北京", "é, ", "\x00", " \u0301"])
def test_ten_megabytes_are_cut_early_with_the_same_result(part: str) -> None:
    text = part * (10_000_000 // len(part))
    assert ours().pieces(text, 510) == expected(text[:20_000])[:510]


def test_only_as_much_is_read_as_is_asked_for() -> None:
    first, second = islice(words("é " * 1_000_000), 2)
    assert len(first) + len(second) < 10_000


def test_the_memory_of_words_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wordpiece, "_REMEMBERED_WORDS", 10)
    pieces = WordPieces(VOCABULARY.read_text("utf-8").rstrip("\n").split("\n"))
    text = " ".join(str(n) for n in range(1000))
    assert pieces.pieces(text, 5000) == expected(text)
    assert len(pieces._pieces_of_word) <= 10


@given(st.lists(st.one_of(st.text(max_size=30), st.text(st.characters(max_codepoint=127), max_size=60))))
def test_many_texts_have_the_pieces_that_each_has(texts: list[str]) -> None:
    texts = [*texts, "one two three", "ab\x00cd\x0b e_f's\t[SEP]", "x" * 120, "word " * 900, ""]
    for most in (0, 3, 510):
        found = ours().pieces_of_many(texts, most)
        assert list(map(list, found)) == [ours().pieces(text, most) for text in texts]


def test_the_memory_of_words_of_many_texts_is_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wordpiece, "_REMEMBERED_WORDS", 10)
    pieces = WordPieces(VOCABULARY.read_text("utf-8").rstrip("\n").split("\n"))
    texts = [f"{number} and {number + 1}" for number in range(100)]
    for _ in range(3):
        assert list(map(list, pieces.pieces_of_many(texts, 50))) == [expected(text) for text in texts]


def test_a_word_that_can_not_be_taken_apart_spoils_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = WordPieces(VOCABULARY.read_text("utf-8").rstrip("\n").split("\n"))
    with monkeypatch.context() as patched:
        patched.setattr(pieces, "_longest_match_first", lambda word: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            list(pieces.pieces_of_many(["one two"], 50))
    assert list(map(list, pieces.pieces_of_many(["one two"], 50))) == [[2028, 2048]]
