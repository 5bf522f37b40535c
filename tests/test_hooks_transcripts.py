"""What is taken from a transcript: what was said, without machinery and secrets, a little at a time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import assembling
from recollect.doors.agents import transcript
from recollect.doors.agents.masking import masked
from recollect.doors.agents.transcript import Transcript

from .hooked import TOOL_USE, assistant, user, uuid


def read(path: Path, *records: Any, offset: int = 0, tail: bytes = b"") -> list[tuple[str, str]]:
    path.write_bytes(b"".join(json.dumps(each).encode() + b"\n" for each in records) + tail)
    return [(turn.speaker, turn.text) for turn in Transcript(path, offset).turns()]


def queued(number: int, prompt: Any, **fields: Any) -> dict[str, Any]:
    """What came while the agent was at work, as Claude Code writes it down."""
    return {
        **user(number, ""),
        "type": "attachment",
        "attachment": {"type": "queued_command", "prompt": prompt, **fields},
        "message": None,
    }


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s1.jsonl"


@pytest.mark.parametrize(
    "record",
    [
        user(1, "from the machinery", isMeta=True),
        user(1, "from a subagent", isSidechain=True),
        user(1, "This session is being continued", isCompactSummary=True),
        assistant(1, "API Error: overloaded") | {"isApiErrorMessage": True},
        user(1, "<command-name>/clear</command-name>"),
        user(1, "<local-command-stdout>ok</local-command-stdout>"),
        user(1, "<bash-input>ls</bash-input>"),
        user(1, "[Request interrupted by user]"),
        user(1, "<system-reminder>\nAlways be brief.\n</system-reminder>"),
        user(
            1,
            "",
            message={"content": [{"type": "tool_result", "content": "x"}, {"type": "text", "text": "y"}]},
        ),
        user(1, "", message={"content": [{"type": "image", "source": {"data": "…"}}]}),
        assistant(1, {"type": "thinking", "thinking": "hm"}),
        assistant(1, TOOL_USE),
        assistant(1, "Let me look.", TOOL_USE),
        {"type": "system", "message": {"content": "x"}},
        {"type": "attachment", "attachment": {"content": "hook output"}},
        {
            "type": "attachment",
            "attachment": {"type": "queued_command", "prompt": "x", "commandMode": "bash"},
        },
        queued(1, "a task ended", commandMode="task-notification"),
        queued(1, "from another agent", origin={"kind": "peer"}),
        queued(1, "from the machinery", isMeta=True),
        user(1, "a task ended", origin={"kind": "task-notification"}),
        user(1, "<ide_opened_file>The user opened a.py in the IDE.</ide_opened_file>"),
        {**user(1, ""), "type": "assistant", "message": {"model": "<synthetic>", "content": "No response."}},
        {"type": "user"},
        {"type": "user", "message": "text"},
        {"type": "user", "message": {"content": 3}},
        {"type": "user", "message": {"content": [1, None, {"type": "text"}, {"type": ["text"]}]}},
        [],
        3,
    ],
)
def test_what_nobody_said_is_left_out(path: Path, record: Any) -> None:
    assert read(path, record, user(2, "Hello there")) == [("user", "Hello there")]


def test_what_was_typed_while_the_agent_was_at_work_is_kept(path: Path) -> None:
    blocks = [{"type": "text", "text": "and in euros"}, {"type": "image", "source": {}}]
    records = [
        user(1, "Add the prices", origin={"kind": "human"}),
        queued(2, "and the tests too", commandMode="prompt", origin={"kind": "human"}),
        queued(3, blocks),
    ]
    assert read(path, *records) == [
        ("user", "Add the prices"),
        ("user", "and the tests too"),
        ("user", "and in euros"),
    ]
    assert [turn.id for turn in Transcript(path).turns()] == [uuid(1), uuid(2), uuid(3)]


def test_what_an_editor_put_before_the_words_is_left_out(path: Path) -> None:
    selected = "<ide_selection>The user selected the lines 1 to 3 from a.py: x = 1</ide_selection>"
    blocks = [{"type": "text", "text": selected}, {"type": "text", "text": "Why is this slow?"}]
    assert read(path, user(1, "", message={"content": blocks})) == [("user", "Why is this slow?")]


def test_parts_of_one_answer_are_one_turn(path: Path) -> None:
    long = "I found that the index is missing, which explains the slow query on the invoices of March. " * 2
    records = [
        assistant(1, "First.", message="m1"),
        assistant(2, long, message="m1"),
        assistant(3, TOOL_USE, message="m1"),
        user(4, "", message={"content": [{"type": "tool_result", "content": "x"}]}),
        assistant(5, "Second.", message="m2"),
    ]
    assert read(path, *records) == [("assistant", f"First.\n\n{long.strip()}"), ("assistant", "Second.")]
    assert [turn.id for turn in Transcript(path).turns()] == [uuid(1), uuid(5)]


@given(memory=st.text(min_size=3), question=st.text(alphabet="abc ", min_size=3))
@settings(deadline=None)
def test_recalled_text_is_never_kept_again(memory: str, question: str) -> None:
    import html

    quoted = f'<memory id="1">{html.escape(memory, quote=False)}</memory>\n'
    injected = f"{assembling.HEADER.format('')}{quoted}{assembling.FOOTER}"
    for around in ("{}", "<system-reminder>UserPromptSubmit hook: {}</system-reminder>"):
        assert transcript.said(f"{question}\n{around.format(injected)}") == question.strip()


def test_reading_goes_on_where_it_ended(path: Path) -> None:
    read(path, user(1, "one"), user(2, "two"))
    first = Transcript(path)
    assert len(list(first.turns())) == 2
    with path.open("ab") as file:
        file.write(json.dumps(user(3, "three")).encode() + b"\n")
    second = Transcript(path, first.offset)
    assert [turn.text for turn in second.turns()] == ["three"]
    assert second.offset == path.stat().st_size
    read(path, user(9, "another file"))
    assert [turn.text for turn in Transcript(path, second.offset).turns()] == ["another file"]


def test_a_line_that_is_half_written_is_left_for_the_next_time(path: Path) -> None:
    whole = json.dumps(user(2, "the second")).encode()
    assert read(path, user(1, "the first"), tail=whole[:40]) == [("user", "the first")]
    reading = Transcript(path)
    list(reading.turns())
    read(path, user(1, "the first"), tail=whole + b"\n")
    assert [turn.text for turn in Transcript(path, reading.offset).turns()] == ["the second"]


def test_broken_lines_and_bytes_are_passed_over(path: Path) -> None:
    tail = b"\xff\xfe{}\n\n{\n" + b"[" * 100_000 + b"\n" + json.dumps(user(3, "still here")).encode()
    assert read(path, user(1, "first"), tail=tail) == [("user", "first"), ("user", "still here")]


def test_a_line_of_any_length_is_passed_over(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript, "LONGEST_LINE", 1_000)
    huge = user(2, "x" * 5_000)
    assert read(path, user(1, "first"), huge, user(3, "third")) == [("user", "first"), ("user", "third")]


def test_a_large_transcript_is_read_a_little_at_a_time(path: Path) -> None:
    read(path, *(user(n, f"turn {n} " + "x" * 1_000) for n in range(2_000)))
    reading = Transcript(path)
    turns = reading.turns()
    assert next(turns).text.startswith("turn 0")
    assert reading.offset < 10_000


def test_a_long_turn_keeps_its_beginning_and_its_end(path: Path) -> None:
    [(_, text)] = read(path, user(1, "start " + "log line\n" * 10_000 + " end"))
    assert text.startswith("start") and text.endswith("end") and "characters left out" in text
    assert len(text) < transcript.LONGEST_TURN + 100


def test_titles(path: Path) -> None:
    read(
        path,
        {"type": "summary", "summary": "First"},
        user(1, "hi"),
        {"type": "ai-title", "aiTitle": "Second"},
    )
    reading = Transcript(path)
    list(reading.turns())
    assert reading.title == "Second"


def test_turns_without_a_usable_id_have_the_same_one_each_time(path: Path) -> None:
    read(path, user(1, "hello", uuid="../../etc"), user(2, "world", uuid=None))
    ids = [[turn.id for turn in Transcript(path).turns()] for _ in range(2)]
    assert ids[0] == ids[1] and len({*ids[0]}) == 2 and all(len(id) == 32 for id in ids[0])


@given(st.binary(max_size=300))
@settings(deadline=None)
def test_any_bytes_can_be_read(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    path.write_bytes(data)
    list(Transcript(path).turns())


@pytest.mark.parametrize(
    "part",
    [
        "<memories>",
        "<system-reminder ",
        "sk-a-",
        "eyJ-",
        "token=",
        "a-",
        "x://a:",
        "-----BEGIN PRIVATE KEY-----",
    ],
)
def test_texts_made_to_take_for_ever_do_not(path: Path, part: str) -> None:
    text = part * (300_000 // len(part))
    assert transcript.said(text) and masked(text)


# secrets, put together here so that nobody takes them for real ones

SECRETS = [
    "ghp_" + "a1B2" * 9,
    "github_pat_" + "a1B2_" * 8,
    "AKIA" + "ABCD1234" * 2,
    "sk-" + "proj-" + "a1B2" * 8,
    "sk-ant-" + "api03-" + "a1B2" * 10,
    "sk_" + "live_" + "a1B2" * 6,
    "xoxb-" + "123456789012-abcdef",
    "AIza" + "a1B2c" * 7,
    "glpat-" + "a1B2c" * 4,
    "npm_" + "a1B2" * 9,
    "hf_" + "a1B2" * 9,
    "eyJhbGciOiJIUzI1" + "." + "eyJzdWIiOiIxMjM0" + "." + "c2lnbmF0dXJl",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc=\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Blbn",
    "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQVY\n-----END PGP PRIVATE KEY BLOCK-----",
    "xapp-1-" + "A0123-456-abcdef012345",
]


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("around", ["{}", "use {} please", "KEY={}\n", '{{"key": "{}"}}'])
def test_obvious_secrets_are_masked(secret: str, around: str) -> None:
    hidden = masked(around.format(secret))
    assert secret not in hidden and "[masked: " in hidden
    assert masked(hidden) == hidden


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("DB_PASSWORD=correct7horse9battery", "correct7horse9battery"),
        ('"api_key": "0123456789abcdef0123"', "0123456789abcdef0123"),
        ("Authorization: Bearer abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrstuvwxyz"),
        ("Authorization: Basic dXNlcjpodW50ZXIyaHVudGVyMg==", "dXNlcjpodW50ZXIyaHVudGVyMg=="),
        ("postgresql://me:hunter2@db.example/prod", "hunter2"),
        ("redis://:hunter2@cache:6379/0", "hunter2"),
    ],
)
def test_secrets_in_their_places_are_masked(text: str, secret: str) -> None:
    assert secret not in masked(text)


@pytest.mark.parametrize(
    "text",
    [
        "The token count is 1200, the secret to speed is batching.",
        'password = os.environ["DB_PASSWORD"]',
        "token = get_access_token2(client)",
        "const token = config.tokens.v2.access",
        "api_key=process.env.API_KEY_2_PROD",
        "http://[::1]:8080/a@b and see http://::@x",
        "Basic understanding of authorization",
        "commit 479312039697f3a1b2c3d4e5f60718293a4b5c6d",
        "11111111-0000-4000-8000-000000000004",
        "https://example.com:8080/a@b and git@github.com:acme/app.git",
        "sk-learn and a sketch-of-the-architecture-that-is-long-enough",
        "def pk_primary_key_of_the_table_and_more(self): ...",
        "Bearer of bad news",
        "password: ********",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert masked(text) == text


def test_secrets_of_a_transcript_are_masked(path: Path) -> None:
    [(_, text)] = read(path, user(1, f"use {SECRETS[0]} for the deploy"))
    assert text == "use [masked: GitHub token] for the deploy"
