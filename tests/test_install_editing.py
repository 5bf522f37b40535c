"""Editing other programs' files: any JSON with comments, any TOML; others' content stays as it is."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.doors.agents import clients, hooksettings, jsonc, planning, toml
from recollect.errors import InvalidInput

CLAUDE = clients.CLIENTS["claude-code"]
CODEX = clients.CLIENTS["codex"]
ENTRY = clients.entry(CLAUDE, ["recollect", "mcp", "-n", "."])

texts = st.text(max_size=6)
keys = texts | st.sampled_from(("mcpServers", "hooks", "SessionEnd", "recollect", "other"))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)
servers = st.dictionaries(texts.filter(lambda name: name != "recollect"), values, min_size=1, max_size=3)
documents = st.builds(
    lambda document, others: {**document, **({"mcpServers": others} if others else {})},
    st.dictionaries(keys.filter(lambda key: key not in ("mcpServers", "hooks")), values, max_size=4),
    st.none() | servers,
)
hook_lists = st.lists(
    st.fixed_dictionaries(
        {
            "hooks": st.lists(
                st.fixed_dictionaries({"type": st.just("command"), "command": texts}), min_size=1
            )
        },
        optional={"matcher": texts},
    ),
    min_size=1,
    max_size=2,
)
hook_settings = st.builds(
    lambda document, events: {**document, **({"hooks": events} if events else {})},
    documents,
    st.none() | st.dictionaries(st.sampled_from(("SessionEnd", "PreToolUse")), hook_lists, min_size=1),
)


class Written:
    """A document as some person might write it: odd spaces, comments, trailing commas."""

    def __init__(self, draw: Any) -> None:
        self._draw = draw
        self.comments: list[str] = []

    def space(self) -> str:
        kind = self._draw(st.sampled_from(("", "", " ", "\n", "\n    ", "\t", "line", "block")))
        if kind not in ("line", "block"):
            return str(kind)
        comment = f"note {len(self.comments)} }}],"
        self.comments.append(comment)
        return f" // {comment}\n" if kind == "line" else f" /* {comment} */ "

    def text(self, value: Any) -> str:
        return f"{self.space()}{self._value(value)}{self.space()}"

    def _value(self, value: Any) -> str:
        if not isinstance(value, (dict, list)):
            return json.dumps(value, ensure_ascii=self._draw(st.booleans()))
        items = (
            [
                f"{self.space()}{json.dumps(key)}{self.space()}:{self.text(each)}"
                for key, each in value.items()
            ]
            if isinstance(value, dict)
            else [self.text(each) for each in value]
        )
        trailing = "," + self.space() if items and self._draw(st.booleans()) else ""
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        return f"{opening}{','.join(items)}{trailing}{self.space()}{closing}"


@st.composite
def written(draw: Any, what: Any) -> tuple[Any, str, list[str]]:
    document = draw(what)
    indent = draw(st.sampled_from((None, 2, 4, "\t", "odd", "odd")))
    if indent != "odd":
        newline = draw(st.sampled_from(("\n", "\r\n")))
        return document, json.dumps(document, indent=indent).replace("\n", newline), []
    writing = Written(draw)
    text = writing.text(document)
    return document, text, writing.comments


def plan_server(path: Path, text: str | None, *, uninstall: bool = False) -> planning.Plan:
    if text is not None:
        path.write_bytes(text.encode())
    return planning.server(CLAUDE, path, ENTRY, uninstall=uninstall)


@pytest.fixture(scope="session")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("settings") / "settings.json"


@given(case=written(documents))
@settings(max_examples=120, deadline=None)
def test_any_settings_gain_the_server_and_lose_it_again(file: Path, case: tuple[Any, str, list[str]]) -> None:
    document, text, comments = case
    assert jsonc.parsed(text) == document
    after = plan_server(file, text).after
    assert after is not None
    others = {**document.get("mcpServers", {}), "recollect": ENTRY}
    assert jsonc.parsed(after) == {**document, "mcpServers": others}
    assert all(comment in after for comment in comments)
    assert not plan_server(file, after).changes
    back = plan_server(file, after, uninstall=True).after
    assert back is None if not document and not comments else jsonc.parsed(back or "") == document
    assert all(comment in (back or "") for comment in comments)


@given(case=written(hook_settings))
@settings(max_examples=50, deadline=None)
def test_any_settings_gain_the_hooks_and_lose_them_again(
    file: Path, case: tuple[Any, str, list[str]]
) -> None:
    document, text, comments = case
    file.write_bytes(text.encode())
    after = planning.hooks(file, ["recollect"], uninstall=False).after
    assert after is not None
    found = jsonc.parsed(after)
    assert {key: value for key, value in found.items() if key != "hooks"} == {
        key: value for key, value in document.items() if key != "hooks"
    }
    for event, hook in hooksettings.wanted(["recollect"]).items():
        before = document.get("hooks", {}).get(event, [])
        assert found["hooks"][event] == [*before, {"hooks": [hook]}]
    file.write_bytes(after.encode())
    assert not planning.hooks(file, ["recollect"], uninstall=False).changes
    back = planning.hooks(file, ["recollect"], uninstall=True).after
    assert back is None if not document and not comments else jsonc.parsed(back or "") == document
    assert all(comment in (back or "") for comment in comments)


@given(text=st.text())
@settings(max_examples=120, deadline=None)
def test_what_is_no_json_is_refused_and_what_is_reads_as_json_does(text: str) -> None:
    try:
        expected = json.loads(text)
    except ValueError:
        return
    assert jsonc.parsed(text) == expected or expected != expected


@pytest.mark.parametrize(
    "text",
    ["{", "[]", "null", '{"a": 1} x', '{"a" 1}', '{"a": }', '{"a": 1, "a": 2}', '{a: 1}', '{"a": "\n"}',
     '{"mcpServers": []}', '{"mcpServers": null}', "{" * 5_000, '{"a": nul}', '/* open {}', '{"a": 01}'],
)  # fmt: skip
def test_what_can_not_be_read_is_not_touched(file: Path, text: str) -> None:
    with pytest.raises(InvalidInput, match="nothing was changed"):
        plan_server(file, text)
    assert file.read_text() == text


def test_a_server_of_that_name_that_is_not_ours_is_left_alone(file: Path) -> None:
    for uninstall in (False, True):
        with pytest.raises(InvalidInput, match="rename"):
            plan_server(file, '{"mcpServers": {"recollect": {"url": "http://x"}}}', uninstall=uninstall)


def test_what_somebody_added_to_our_entry_stays(file: Path) -> None:
    mine = {"command": "recollect", "args": ["mcp"], "env": {"RECOLLECT_QUICK": "1"}}
    after = plan_server(file, json.dumps({"mcpServers": {"recollect": mine}})).after
    assert jsonc.parsed(after or "")["mcpServers"]["recollect"] == {**mine, **ENTRY}


def test_a_comment_stays_with_its_line(file: Path) -> None:
    text = '{\n  "mcpServers": {\n    "other": {} // the other one\n  }\n}\n'
    after = plan_server(file, text).after or ""
    assert '"other": {}, // the other one\n    "recollect": {' in after
    assert plan_server(file, after, uninstall=True).after == text


def test_hooks_of_an_older_path_are_brought_up_to_date(file: Path) -> None:
    old = hooksettings.put("{}", ["/old/place/recollect"])
    new = jsonc.parsed(hooksettings.put(old, ["recollect", "-s", "x.db"]))
    assert new["hooks"]["SessionEnd"][0]["hooks"][0]["command"] == "recollect -s x.db hook session-end"
    assert all(len(groups) == 1 for groups in new["hooks"].values())


def test_a_hook_of_ours_beside_anothers_leaves_that_one() -> None:
    theirs = {"type": "command", "command": "recollect hook session-end-of-mine"}
    ours = hooksettings.wanted(["recollect"])["SessionEnd"]
    text = json.dumps({"hooks": {"SessionEnd": [{"matcher": "", "hooks": [theirs, ours]}]}})
    assert jsonc.parsed(hooksettings.remove(text)) == {
        "hooks": {"SessionEnd": [{"matcher": "", "hooks": [theirs]}]}
    }


# TOML

WHERE = ("mcp_servers", "recollect")
TOMLS = (
    "",
    "# only a comment\n",
    'model = "o3"',
    'model = "o3"\n\n[mcp_servers.other]  # theirs\ncommand = "x"\n\n# a profile\n[profiles.me]\na = 1\n',
    '[projects."/home/me/app"]\r\ntrust_level = "trusted"\r\n',
    'text = """\n[mcp_servers.recollect]\n"""\n',
)


@pytest.mark.parametrize("text", TOMLS[:-1])
def test_toml_gains_the_table_and_loses_it_again(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(text.encode())
    entry = clients.entry(CODEX, ["recollect", "mcp", "-n", 'a "b" \\ é'])
    after = planning.server(CODEX, path, entry, uninstall=False).after or ""
    assert after.startswith(text)
    assert tomllib.loads(after)["mcp_servers"]["recollect"] == entry
    path.write_bytes(after.encode())
    assert not planning.server(CODEX, path, entry, uninstall=False).changes
    back = planning.server(CODEX, path, entry, uninstall=True).after
    assert (back or "").strip() == text.strip()


def test_a_table_in_the_middle_is_changed_and_removed_alone(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    text = (
        '[mcp_servers.recollect]\ncommand = "recollect"\nargs = ["mcp"] # mine\nenabled = true\n\n'
        '[mcp_servers.recollect.env]\nA = "b"\n\n# theirs\n[mcp_servers.other]\ncommand = "x"\n'
    )
    path.write_text(text)
    entry = clients.entry(CODEX, ["/opt/recollect", "mcp", "-n", "."])
    after = planning.server(CODEX, path, entry, uninstall=False).after or ""
    assert tomllib.loads(after)["mcp_servers"]["recollect"] == {
        **entry,
        "enabled": True,
        "env": {"A": "b"},
    }
    back = planning.server(CODEX, path, entry, uninstall=True).after or ""
    assert back.strip() == '# theirs\n[mcp_servers.other]\ncommand = "x"'


@pytest.mark.parametrize(
    "text", ["[broken", 'mcp_servers = {other = {command = "x"}}\n', TOMLS[-1], 'mcp_servers = "x"']
)
def test_toml_that_can_not_be_edited_safely_is_not_touched(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(InvalidInput, match="nothing was changed"):
        planning.server(CODEX, path, clients.entry(CODEX, ["recollect", "mcp"]), uninstall=False)
    assert path.read_text() == text


def test_toml_strings_are_read_as_they_were_meant() -> None:
    text = toml.put("", WHERE, {"args": ["\x00\x1f\x7f\u2028'\"\\"]})
    assert tomllib.loads(text)["mcp_servers"]["recollect"]["args"] == ["\x00\x1f\x7f\u2028'\"\\"]
