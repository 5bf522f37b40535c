"""Resources and the prompt: memories that a person attaches, and a conversation that begins with them."""

from __future__ import annotations

from typing import Annotated, Any

from mcp.server import MCPServer, ServerRequestContext
from mcp.server.context import CallNext, HandlerResult
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, CallToolResult, TextContent
from pydantic import Field, ValidationError

from recollect.doors.cli.render import one_line
from recollect.doors.mcp.finding import Finding
from recollect.doors.mcp.visits import Request
from recollect.errors import InvalidInput, NotFound, RecollectError

Topic = Annotated[
    str, Field(max_length=1_000, description="What the conversation is about; left out, the latest memories.")
]
BEGINNING = (
    "Before we begin, this is what you remembered {}. Use what helps, and say so where it decides something. "
    "Search your memory for more when you need it, and remember what we settle.\n\n"
)


def add_resources(server: MCPServer, finding: Finding) -> None:
    """`memory://recent` and `memory://{id}`."""

    @server.resource(
        "memory://recent",
        name="recent",
        title="Recent memories",
        description="The latest memories, a line each, oldest first.",
        mime_type="text/plain",
    )
    def recent() -> str:
        try:
            return _text(finding.timeline())
        except RecollectError as error:
            raise ResourceError(str(error)) from error

    @server.resource(
        "memory://{id}",
        name="memory",
        title="A memory",
        description="One memory by its id, quoted with where it comes from and how far to trust it.",
        mime_type="text/plain",
    )
    def memory(id: str) -> str:
        try:
            return _text(finding.get([id]))
        except (NotFound, InvalidInput) as error:
            raise ResourceNotFoundError(str(error)) from error
        except RecollectError as error:
            raise ResourceError(str(error)) from error


def add_prompt(server: MCPServer, finding: Finding) -> None:
    """`recall`, for the beginning of a conversation."""

    @server.prompt(
        name="recall",
        title="Begin with what is remembered",
        description="Recall what is remembered about a topic, for the beginning of a conversation.",
    )
    def recall(request: Request, topic: Topic = "") -> str:
        try:
            if not topic.strip():
                return BEGINNING.format("last") + _text(finding.timeline())
            return BEGINNING.format(f'about "{topic.strip()}"') + _text(finding.context(request, topic))
        except RecollectError as error:
            code = INVALID_PARAMS if isinstance(error, (InvalidInput, NotFound)) else INTERNAL_ERROR
            raise MCPError(code=code, message=str(error)) from error


async def tell_wrong_prompts(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """A prompt that there is not, or that can't be asked for so, is an error of the caller's."""
    try:
        return await call_next(ctx)
    except ValueError as error:
        refused = error.__cause__
        deepest = refused.__cause__ if refused else None
        is_ours = refused is None or not (deepest is None or isinstance(deepest, ValidationError))
        if ctx.method != "prompts/get" or isinstance(error, ValidationError) or is_ours:
            raise
        message = one_line(f"{error}: prompts/list says what there is, and what it takes.", 300)
        raise MCPError(code=INVALID_PARAMS, message=message) from error


def _text(result: CallToolResult) -> str:
    return "".join(block.text for block in result.content if isinstance(block, TextContent))
