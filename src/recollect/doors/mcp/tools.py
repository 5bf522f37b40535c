"""The tools: which there are, what they are said to be, and how their failures are told."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Literal

from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, ToolAnnotations
from pydantic import ConfigDict, ValidationError
from pydantic.json_schema import GenerateJsonSchema

from recollect.doors.mcp.finding import Finding
from recollect.doors.mcp.output import failure
from recollect.doors.mcp.shapes import schema_of
from recollect.doors.mcp.visits import Request
from recollect.doors.mcp.writing import Writing
from recollect.errors import RecollectError
from recollect.memories import Memories

Choice = Literal["basic", "all"]
BASIC = ("timeline", "search", "get", "remember")

_READS = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
_ADDS = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)
_ADDS_ONCE = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
_REMOVES = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
)
_DESCRIBED: dict[str, tuple[str, ToolAnnotations]] = {
    "timeline": ("What happened", _READS),
    "search": ("Search memories", _READS),
    "get": ("Read memories", _READS),
    "remember": ("Remember", _ADDS),
    "supersede": ("Replace a memory", _ADDS),
    "relate": ("Relate memories", _ADDS_ONCE),
    "forget": ("Forget memories", _REMOVES),
    "context": ("Gather context", _READS),
    "sessions": ("List sessions", _READS),
}


class _Plain(GenerateJsonSchema):
    """Schemas without titles, which say what the names say and cost the model as much again."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


class MemoryTool(Tool):
    """A tool that takes no unknown arguments, and says in one sentence what went wrong."""

    async def run(self, arguments: dict[str, Any], context: Request, convert_result: bool = False) -> Any:
        """Call it; what can be told to the model comes back as a result, a fault of ours is raised."""
        try:
            return await super().run(arguments, context, convert_result)
        except ToolError as error:
            cause = error.__cause__
            if isinstance(cause, ValidationError) and not isinstance(error, UnexpectedToolError):
                return failure(_wrong_arguments(self.name, cause))
            if isinstance(cause, (RecollectError, ToolError)):
                return failure(str(cause))
            raise


def _wrong_arguments(tool: str, error: ValidationError) -> str:
    problems = [
        f"{'.'.join(map(str, each['loc'])) or 'arguments'}: {each['msg']}" for each in error.errors()[:3]
    ]
    return f"{tool} can't be called so: {'; '.join(problems)}."


def make_tools(memories: Memories, chosen: Choice, max_tokens: int) -> list[Tool]:
    """The tools that were chosen, over these memories."""
    finding = Finding(memories, max_tokens)
    writing = Writing(memories, can_supersede=chosen == "all")
    named = {name: getattr(writing, name, None) or getattr(finding, name) for name in _DESCRIBED}
    return [_tool(name, function) for name, function in named.items() if chosen == "all" or name in BASIC]


def _tool(name: str, function: Callable[..., CallToolResult]) -> MemoryTool:
    title, annotations = _DESCRIBED[name]
    description = "\n\n".join(
        " ".join(each.split()) for each in (inspect.getdoc(function) or "").split("\n\n")
    )
    made = MemoryTool.from_function(
        function, name=name, title=title, description=description, annotations=annotations
    )
    assert isinstance(made, MemoryTool)
    metadata = made.fn_metadata
    metadata.arg_model = type(name, (metadata.arg_model,), {"model_config": ConfigDict(extra="forbid")})
    metadata.output_schema = schema_of(name)
    made.parameters = metadata.arg_model.model_json_schema(by_alias=True, schema_generator=_Plain)
    made.parameters.pop("title")
    return made
