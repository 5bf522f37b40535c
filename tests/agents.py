"""An agent's side of the MCP door: the SDK's own client, used from tests that are not async."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jsonschema
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, MCPError, StdioServerParameters
from mcp_types import CallToolResult, ElicitRequestParams, ElicitResult, Implementation, TextContent, Tool

BOTH_PROTOCOLS = ("legacy", "auto")
"""The one with a handshake, and the one where every request stands alone."""

__all__ = ["BOTH_PROTOCOLS", "Agent", "MCPError", "answering", "command", "connected"]


class Agent:
    """A client that is connected; whatever a tool answers must be as its schema says."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self._portal = portal
        self.client = client
        self.tools: dict[str, Tool] = {tool.name: tool for tool in self._await(client.list_tools).tools}

    def _await(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return self._portal.call(function, *arguments)

    def call(self, tool: str, **arguments: Any) -> CallToolResult:
        result: CallToolResult = self._await(self.client.call_tool, tool, arguments)
        if not result.is_error:
            schema = self.tools[tool].output_schema
            assert schema is not None
            checker = jsonschema.Draft202012Validator.FORMAT_CHECKER
            jsonschema.Draft202012Validator(schema, format_checker=checker).validate(
                result.structured_content
            )
        return result

    def content(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The structured content of an answer."""
        result = self.call(tool, **arguments)
        assert not result.is_error, text_of(result)
        assert result.structured_content is not None
        return dict(result.structured_content)

    def text(self, tool: str, **arguments: Any) -> str:
        """What the model reads of an answer."""
        result = self.call(tool, **arguments)
        assert not result.is_error, text_of(result)
        return text_of(result)

    def error(self, tool: str, **arguments: Any) -> str:
        """What the model is told went wrong: one line, and no traceback."""
        result = self.call(tool, **arguments)
        assert result.is_error
        assert result.structured_content is None
        said = text_of(result)
        assert "\n" not in said and "Traceback" not in said
        return said

    def remember(self, text: str, **fields: Any) -> str:
        """Keep something; its id."""
        return str(self.content("remember", text=text, **fields)["id"])

    def read(self, uri: str) -> str:
        return str(self._await(self.client.read_resource, uri).contents[0].text)

    def prompt(self, name: str, **arguments: str) -> str:
        return str(self._await(self.client.get_prompt, name, arguments).messages[0].content.text)

    def resources(self) -> list[str]:
        """The URIs of resources and of their templates."""
        listed = [each.uri for each in self._await(self.client.list_resources).resources]
        templates = self._await(self.client.list_resource_templates).resource_templates
        return [*map(str, listed), *(each.uri_template for each in templates)]

    def prompts(self) -> dict[str, list[str]]:
        """Each prompt and the names of its arguments."""
        found = self._await(self.client.list_prompts).prompts
        return {each.name: [argument.name for argument in each.arguments] for each in found}


def text_of(result: CallToolResult) -> str:
    """All that the model reads."""
    return "".join(block.text for block in result.content if isinstance(block, TextContent))


@contextmanager
def connected(server: Any, mode: str = "auto", name: str = "tester", **options: Any) -> Iterator[Agent]:
    """A client of a server in this process, of a command or of any transport."""
    given = Client(server, mode=mode, client_info=Implementation(name=name, version="1"), **options)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(given) as client:
        yield Agent(portal, client)


def answering(action: Any, content: Any = None) -> tuple[Callable[..., Any], list[str]]:
    """A user who always answers so when asked, and what was asked."""
    questions: list[str] = []

    async def answer(_: Any, asked: ElicitRequestParams) -> ElicitResult:
        questions.append(asked.message)
        return ElicitResult(action=action, content=content)

    return answer, questions


def command(folder: Path, *arguments: str, **environment: str) -> StdioServerParameters:
    """`recollect mcp` as a client starts it, on a store in a folder."""
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "recollect.doors.cli", "mcp", *arguments],
        env={**os.environ, **settings(folder), **environment},
        cwd=folder,
    )


def settings(folder: Path) -> dict[str, str]:
    """The environment of a command that uses a store in a folder."""
    return {
        "RECOLLECT_URL": str(folder / "memory.db"),
        "RECOLLECT_NAMESPACE": "proj1",
        "RECOLLECT_EMBEDDER": "hash",
        "RECOLLECT_CONFIG": "",
        "RECOLLECT_TOKEN": "",
        "RECOLLECT_TOKENS": str(folder / "tokens.json"),
        "XDG_CONFIG_HOME": str(folder),
    }
