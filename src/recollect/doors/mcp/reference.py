"""What is offered to clients, as Markdown for docs/mcp.md: `python -m recollect.doors.mcp.reference`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import anyio
from mcp.server import MCPServer
from mcp_types import Tool

from recollect.doors.mcp.server import AgentDoor
from recollect.doors.mcp.tools import BASIC


def reference() -> str:
    """Everything that a client is offered."""
    import recollect

    with recollect.open(":memory:", embedder="none") as memories:
        return "\n".join(anyio.run(_lines, AgentDoor(memories, tools="all").server))


async def _lines(server: MCPServer[Any]) -> list[str]:
    lines: list[str] = []
    for tool in await server.list_tools():
        lines += _tool(tool)
    lines += ["### Resources\n"]
    lines += [f"- `{each.uri}`: {each.description}" for each in await server.list_resources()]
    templates = await server.list_resource_templates()
    lines += [f"- `{each.uri_template}`: {each.description}" for each in templates]
    lines += ["\n### Prompts\n"]
    for prompt in await server.list_prompts():
        lines.append(f"- `{prompt.name}`: {prompt.description}")
        lines += [f"  - `{each.name}`: {each.description}" for each in prompt.arguments or ()]
    return lines


def _tool(tool: Tool) -> Iterator[str]:
    offered = "" if tool.name in BASIC else " (with `--tools all`)"
    hints = tool.annotations
    kind = "reads" if hints and hints.read_only_hint else "writes"
    if hints and hints.destructive_hint:
        kind = "removes"
    yield f"### {tool.name}{offered}\n\n{tool.description}\n\nIt {kind}. Parameters:\n"
    needed = tool.input_schema.get("required", ())
    for name, parameter in tool.input_schema["properties"].items():
        given = "needed" if name in needed else f"{json.dumps(parameter['default'])} if not given"
        yield f"- `{name}` ({_type(parameter)}, {given}): {parameter['description']}"
    yield ""


def _type(parameter: dict[str, Any]) -> str:
    if "enum" in parameter:
        return " or ".join(f'"{value}"' for value in parameter["enum"])
    if parameter["type"] == "array":
        return f"list of {parameter['items']['type']}s"
    bounds = (parameter.get("minimum"), parameter.get("maximum"))
    within = f" from {bounds[0]} to {bounds[1]}" if None not in bounds else ""
    return f"{parameter['type']}{within}"


if __name__ == "__main__":
    print(reference())
