"""Many patterns over one text: each is searched for only where the text has the words that it needs.

What a pattern needs is read from the pattern itself, so that the answer is always the same as that of
searching for every one of them.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, pairwise
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

from recollect.query import compiled

_WORD = re.compile(r"\w+")
_DIGIT = re.compile(r"\d")
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^]\\])*\]|.", re.DOTALL)
_UNKNOWN, _EDGE = "\0", "\1"
_A_DIGIT, _NOT_ASCII = "\2", "\3"
"""What a text may have beside words and signs: a digit somewhere, a character beyond ASCII. A short number is
there twice: as a word, and as so many digits."""
_LONGEST_NUMBER = 8
_MOST_PHRASES = 64
_AT_ONCE = 128
"""So many texts are searched before another thread may have its turn."""
_ANY_DIGIT = (op.IN, [(op.CATEGORY, op.CATEGORY_DIGIT)])

Tree = Sequence[tuple[Any, Any]]
Way = frozenset[str]
"""What a text must have for a part of a pattern to match in one of several ways: all of these."""
Needs = tuple[frozenset[Way], ...]
"""What a text must have for a pattern to match: one way of each of its parts."""


class Lead(NamedTuple):
    """What makes it worth while to look for an alternative in a text: it has all of this."""

    way: tuple[str, ...]
    others: tuple[tuple[str, ...], ...]
    """One of each of these is also needed."""
    literal: str
    alternative: Alternative


class Alternative:
    """One of the things that a pattern may match; compiled when it is first looked for."""

    def __init__(self, pattern: int, source: str) -> None:
        self.pattern = pattern
        self._source = source
        tree = list(_parser.parse(source))
        self._begins = tree[:1] == [(op.AT, op.AT_BEGINNING)] and not source.startswith("(?m)")
        phrases = _phrases(tree)
        self.words = frozenset(phrase for phrase in phrases if _WORD.fullmatch(phrase))
        """Any of these is a match by itself."""
        self.leads = [Lead(tuple(_way(phrase)), (), phrase, self) for phrase in phrases - self.words]
        """Any of these may be a match; without phrases and leads, any text may be."""
        if not phrases:
            literal = _longest_literal(tree)
            first, *others = sorted(_needs(tree), key=len) or [frozenset()]
            rarest = tuple(tuple({*map(_rarest, ways)}) for ways in others)
            self.leads = [Lead(tuple(way), rarest, literal, self) for way in first]

    @cached_property
    def find(self) -> Callable[[str], object]:
        """What looks for it in a text; one that can only stand at the beginning is looked for there alone."""
        compiled = re.compile(self._source)
        return compiled.match if self._begins else compiled.search


class Suspects(NamedTuple):
    """What is known of a text before it is searched: which patterns it has, and what it may have."""

    found: set[int]
    possible: list[Alternative]

    def confirmed(self, text: str) -> set[int]:
        """The numbers of the patterns that the text has."""
        for each in self.possible:
            if each.pattern not in self.found and each.find(text):
                self.found.add(each.pattern)
        return self.found


class Contest:
    """Groups of patterns, in which each pattern has a weight; the group that wins has at least so much."""

    def __init__(self, groups: Sequence[int], weights: Sequence[float], least: float) -> None:
        self.groups = list(groups)
        self.weights = array("d", weights)
        self.least = least

    def winner(self, text: str, suspects: Suspects) -> int | None:
        """The group that has most weight in a text, which is searched only for patterns of one that may still
        win: most texts have the words that some pattern needs, and not the pattern."""
        most = [0.0] * (max(self.groups) + 1)
        possible: dict[int, list[Alternative]] = {}
        for number in suspects.found:
            most[self.groups[number]] += self.weights[number]
        for each in suspects.possible:
            if each.pattern not in suspects.found:
                if each.pattern not in possible:
                    most[self.groups[each.pattern]] += self.weights[each.pattern]
                possible.setdefault(each.pattern, []).append(each)
        while most[best := most.index(max(most))] >= self.least:
            number = min((number for number in possible if self.groups[number] == best), default=-1)
            if number < 0:
                return best
            if not any(each.find(text) for each in possible.pop(number)):
                most[best] -= self.weights[number]
        return None


class Patterns:
    """Patterns to be looked for in many texts. They may begin with (?m), and have no other flags."""

    def __init__(self, sources: Sequence[str]) -> None:
        self._count = len(sources)
        self._always: list[Alternative] = []
        self._by_word: dict[str, list[int]] = {}
        self._leads: dict[str, tuple[Lead, ...]] = {}
        for number, source in enumerate(sources):
            for alternative in alternatives(source):
                self._index(Alternative(number, alternative))
        leads = [lead for leads in self._leads.values() for lead in leads]
        asked = {pieces for lead in leads for pieces in (lead.way, *lead.others)}
        self._asked = frozenset(self._by_word).union(*asked)

    def _index(self, alternative: Alternative) -> None:
        """Kept under its words, and under what fewest texts will have of each lead."""
        if not alternative.words and not alternative.leads:
            self._always.append(alternative)
        for word in alternative.words:
            self._by_word.setdefault(word, []).append(alternative.pattern)
        for lead in alternative.leads:
            rarest = _rarest(lead.way)
            self._leads[rarest] = (*self._leads.get(rarest, ()), lead)

    def in_text(self, text: str) -> set[int]:
        """The numbers of those that occur in a text.

        >>> Patterns([r"\\bcats?\\b", r"\\bdog\\b", "^a"]).in_text("a cat")
        {0, 2}
        """
        return next(self.suspects([text])).confirmed(text)

    def suspects(self, texts: Sequence[str]) -> Iterator[Suspects]:
        """What is to be searched for in each text."""
        if not compiled.COMPILED:
            yield from map(self._suspects, texts)
            return
        led = self._program.run([text for text in texts if text.isascii()])
        for text in texts:
            yield self._of_led(text, next(led)) if text.isascii() else self._suspects(text)

    def _of_led(self, text: str, led: list[int]) -> Suspects:
        alternatives = self._program.alternatives
        found = {each.pattern for each in self._always if each.find(text)}
        found.update([number for number in led if number < self._count])
        return Suspects(found, [alternatives[n - self._count] for n in led if n >= self._count])

    def _suspects(self, text: str) -> Suspects:
        has = self._pieces(text)
        found = {each.pattern for each in self._always if each.find(text)}
        for word in self._by_word.keys() & has:
            found.update(self._by_word[word])
        return Suspects(found, list(dict.fromkeys(self._led(text, has))))

    def _led(self, text: str, has: set[str]) -> list[Alternative]:
        """Those that it is worth while to look for in a text that has these pieces."""
        return [
            lead.alternative
            for piece in self._leads.keys() & has
            for lead in self._leads[piece]
            if has.issuperset(lead.way) and lead.literal in text and not any(map(has.isdisjoint, lead.others))
        ]

    def winners(self, texts: Sequence[str], contest: Contest) -> list[int | None]:
        """Which group of patterns has most weight in each text; of equal ones the first."""
        if not compiled.COMPILED:
            return [contest.winner(text, self._suspects(text)) for text in texts]
        won = iter(self._winners([text for text in texts if text.isascii()], contest))
        return [next(won) if text.isascii() else contest.winner(text, self._suspects(text)) for text in texts]

    def _winners(self, texts: list[str], contest: Contest) -> list[int | None]:
        """The same of texts in ASCII."""
        program = self._program
        patterns = [each.pattern for each in (*program.alternatives, *self._always)]
        led, ends = program.led(texts)
        won: list[int] = []
        done = 0
        for begin in range(0, len(texts), _AT_ONCE):
            upto = ends[begin : begin + _AT_ONCE]
            won += compiled._text.winners(
                texts[begin : begin + _AT_ONCE],
                led[done : upto[-1]],
                [end - done for end in upto],
                program.alternatives,
                self._always,
                patterns,
                contest.groups,
                contest.weights,
                max(contest.groups) + 1,
                contest.least,
            )
            done = upto[-1]
        return [None if group < 0 else group for group in won]

    @cached_property
    def _program(self) -> _Program:
        return _Program(self._count, self._by_word, self._leads, self._asked)

    def _pieces(self, text: str) -> set[str]:
        """What a text has of all that patterns ask for."""
        has = {*_WORD.findall(text), *text}
        has.update([_A_DIGIT * len(word) for word in has if word.isdecimal()])
        if _DIGIT.search(text):
            has.add(_A_DIGIT)
        if not text.isascii():
            has.add(_NOT_ASCII)
        return has & self._asked


class _Program:
    """The words and leads of patterns as numbers, for C to run over texts in ASCII.

    It tells which patterns a text has, and from `count` on those of `alternatives` that it may have.
    The code begins with the places where the leads of each piece begin; there it says how many they are.
    A lead says where it leads to, how long the rest of it is, where its letters stand and how many they are;
    then how many pieces there must be, and which; how many choices there are, and each in the same way.
    """

    def __init__(
        self,
        count: int,
        by_word: Mapping[str, Sequence[int]],
        leads: Mapping[str, Sequence[Lead]],
        asked: Iterable[str],
    ) -> None:
        pieces = sorted(asked)
        self._numbers = {piece: number for number, piece in enumerate(pieces)}
        self._letters = ""
        self._count = count
        self.alternatives = list(dict.fromkeys(lead.alternative for each in leads.values() for lead in each))
        places = {alternative: count + at for at, alternative in enumerate(self.alternatives)}
        begins, rest = array("i"), array("i")
        for piece in pieces:
            coded = [[number, *self._coded((), (), "")] for number in by_word.get(piece, ())]
            coded += [
                [places[lead.alternative], *self._coded(lead.way, lead.others, lead.literal)]
                for lead in leads.get(piece, ())
                if lead.literal.isascii()
            ]
            begins.append(len(pieces) + len(rest))
            rest.extend([len(coded), *chain.from_iterable(coded)])
        self._code = (begins + rest).tobytes()
        self._bytes = self._letters.encode()
        self._table = compiled._text.table(tuple(pieces))

    def _coded(self, way: Sequence[str], choices: Sequence[Sequence[str]], literal: str) -> list[int]:
        coded = [len(self._letters), len(literal), *self._coded_pieces(way), len(choices)]
        coded += chain.from_iterable(map(self._coded_pieces, choices))
        self._letters += literal
        return [len(coded), *coded]

    def _coded_pieces(self, pieces: Sequence[str]) -> list[int]:
        return [len(pieces), *(self._numbers[piece] for piece in pieces)]

    def run(self, texts: list[str]) -> Iterator[list[int]]:
        """What each text has or may have."""
        led, ends = self.led(texts)
        return (led[begin:end] for begin, end in pairwise([0, *ends]))

    def led(self, texts: list[str]) -> tuple[list[int], list[int]]:
        """The same of one text after the other, and where what each has ends."""
        most = self._count + len(self.alternatives)
        led, ends = compiled._text.led(texts, self._table, _A_DIGIT, self._code, self._bytes, most)
        return led, ends


def alternatives(source: str) -> list[str]:
    """What stands between the bars of a pattern, but for those within groups.

    >>> alternatives(r"(?m)^a(b|c)|[|]\\|d")
    ['(?m)^a(b|c)', '(?m)[|]\\\\|d']
    """
    flags = "(?m)" if source.startswith("(?m)") else ""
    found, depth = [flags], 0
    for token in _TOKEN.findall(source[len(flags) :]):
        depth += (token == "(") - (token == ")")
        if token == "|" and depth == 0:
            found.append(flags)
        else:
            found[-1] += token
    return found


def _longest_literal(tree: Tree) -> str:
    """The longest run of plain characters that is always there."""
    runs = [""]
    for kind, value in tree:
        if kind is op.LITERAL:
            runs[-1] += chr(value)
        else:
            runs.append("")
    return max(runs, key=len)


def _phrases(tree: Tree) -> frozenset[str]:
    """All that a pattern may match, if it stands between edges of words and that is not much; else nothing.

    >>> sorted(_phrases(_parser.parse(r"\\b(cats?|dog) runs\\b")))
    ['cat runs', 'cats runs', 'dog runs']
    """
    edge = (op.AT, op.AT_BOUNDARY)
    spelled = _spelled(tree[1:-1]) if len(tree) > 2 and tree[0] == edge == tree[-1] else []
    return frozenset(spelled if all(spelled) else ())


def _spelled(tree: Tree) -> list[str]:
    """Every text that a part of a pattern may match; none when there are others."""
    found = [""]
    for kind, value in tree:
        ends: list[str] = []
        if kind is op.LITERAL or kind is op.IN:
            ends = [piece for piece in _pieces(kind, value) if piece.isprintable()]
        elif kind is op.SUBPATTERN and not value[1]:
            ends = _spelled(value[-1])
        elif kind is op.BRANCH:
            branches = [_spelled(branch) for branch in value[1]]
            ends = [end for branch in branches for end in branch] if all(branches) else []
        elif kind is op.MAX_REPEAT and value[:2] == (0, 1):
            ends = ["", *once] if (once := _spelled(value[2])) else []
        if len(found) * len(ends) > _MOST_PHRASES:
            return []
        found = [begin + end for begin in found for end in ends]
    return found


def _way(phrase: str) -> Way:
    """What a text must have where a phrase stands in it between edges of words."""
    signs = [character for character in phrase if _is_sign(character)]
    beyond = [] if phrase.isascii() else [_NOT_ASCII]
    return frozenset([*_WORD.findall(phrase), *signs, *beyond])


def _rarest(way: Iterable[str]) -> str:
    """What fewest texts have: a word rather than anything else, a long one rather than a short."""
    return max(way, key=lambda piece: (piece.isalnum(), len(piece), piece))


class _Read(NamedTuple):
    """What is known where a pattern has been read up to some place: what it needs so far, an open word."""

    way: Way
    word: str


def _needs(tree: Tree) -> Needs:
    """What a text must have for a pattern to occur in it: words, for the most part.

    >>> [sorted(map(sorted, ways)) for ways in _needs(_parser.parse(r"\\b(cats?|old dog) (run|nap)\\b"))]
    [[['cat'], ['cats'], ['dog', 'old']], [['nap'], ['run']]]
    """
    known: list[frozenset[Way]] = []
    reads = {_Read(frozenset(), _UNKNOWN)}
    for node in tree:
        reads = _after(reads, [node])
        if not any(read.word for read in reads):
            known.append(frozenset(read.way for read in reads))
            reads = {_Read(frozenset(), "")}
    known.append(frozenset(read.way for read in reads))
    return tuple(ways for ways in dict.fromkeys(known) if frozenset() not in ways)


def _after(reads: set[_Read], tree: Tree) -> set[_Read]:
    """What is known after a part of a pattern, from what was known before it."""
    for kind, value in tree:
        if kind is op.SUBPATTERN and not value[1]:
            reads = _after(reads, value[-1])
        elif kind is op.BRANCH:
            reads = set().union(*(_after(reads, branch) for branch in value[1]))
        elif kind in (op.MAX_REPEAT, op.MIN_REPEAT):
            reads = _after_repeat(reads, *value)
        elif kind not in (op.ASSERT, op.ASSERT_NOT):
            pieces = _pieces(kind, value)
            reads = {_read_on(read, piece) for piece in pieces for read in reads}
    return reads


def _after_repeat(reads: set[_Read], least: int, most: int, tree: Tree) -> set[_Read]:
    """None, one, or the last of several, before which there is something unknown; a short number wholly."""
    if least == most <= _LONGEST_NUMBER and list(tree) == [_ANY_DIGIT]:
        return _after(reads, [_ANY_DIGIT] * least)
    found = set() if least else set(reads)
    if least <= 1:
        found |= _after(reads, tree)
    if most > 1:
        found |= _after({_Read(read.way, _UNKNOWN) for read in reads}, tree)
    return found


def _read_on(read: _Read, piece: str) -> _Read:
    """One piece further: a part of a word, or what ends one."""
    way, word = read
    if piece.isalnum() or piece == "_":
        return _Read(way if piece.isascii() else way | {_NOT_ASCII}, word + piece)
    if piece == _A_DIGIT:
        return _Read(way | {_A_DIGIT}, word + piece)
    if piece in (_UNKNOWN, _NOT_ASCII):
        return _Read(way if piece == _UNKNOWN else way | {piece}, _UNKNOWN)
    if word and not word.startswith(_UNKNOWN):
        way |= _asked_of(word)
    return _Read(way | {piece} if _is_sign(piece) else way, "")


def _asked_of(word: str) -> Way:
    """What a text has that has this word, of which some characters may be any digit."""
    if _A_DIGIT not in word:
        return frozenset([word])
    is_number = len(word) <= _LONGEST_NUMBER and word.replace(_A_DIGIT, "0").isdecimal()
    return frozenset([_A_DIGIT * len(word)] if is_number else ())


def _is_sign(piece: str) -> bool:
    return piece.isascii() and piece.isprintable() and not piece.isalnum() and piece not in " _"


def _pieces(kind: Any, value: Any) -> list[str]:
    """What one place of a pattern may stand for: characters, the edge of a word, something unknown."""
    if kind is op.LITERAL:
        return [chr(value)]
    if kind is op.AT:
        return [_EDGE if value in (op.AT_BEGINNING, op.AT_BOUNDARY, op.AT_END) else _UNKNOWN]
    if kind is not op.IN:
        return [_UNKNOWN]
    if all(member is op.LITERAL for member, _ in value):
        return [chr(code) for _, code in value]
    if (kind, value) == _ANY_DIGIT:
        return [_A_DIGIT]
    if all(_is_no_word(*each) for each in value):
        return [_EDGE]
    return [_NOT_ASCII if all(_is_beyond_ascii(*each) for each in value) else _UNKNOWN]


def _is_no_word(member: Any, value: Any) -> bool:
    if member is op.LITERAL:
        return not (chr(value).isalnum() or chr(value) == "_")
    return member is op.CATEGORY and value in (op.CATEGORY_SPACE, op.CATEGORY_NOT_WORD)


def _is_beyond_ascii(member: Any, value: Any) -> bool:
    return bool((member is op.RANGE and value[0] > 127) or (member is op.LITERAL and value > 127))
