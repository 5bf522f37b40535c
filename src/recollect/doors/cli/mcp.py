"""The command that serves agents: mcp."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from recollect.doors.cli import render
from recollect.doors.cli.door import Door, command
from recollect.errors import ConfigError

if TYPE_CHECKING:
    from recollect.doors.mcp.server import AgentDoor


@command()
@click.option(
    "--tools",
    type=click.Choice(("basic", "all")),
    default="basic",
    help="basic: timeline, search, get, remember; all: supersede, relate, forget, context, sessions too.",
)
@click.option(
    "--max-tokens",
    type=click.IntRange(1_000, 1_000_000),
    default=2_000,
    metavar="N",
    help="The budget of one answer, 1000 to 1000000 (2000).",
)
@click.option("--agent", metavar="NAME", help="The agent that sessions are of, if not what the client says.")
@click.option("--http", is_flag=True, help="Serve streamable HTTP instead of standard input and output.")
@click.option("--host", metavar="HOST", help="With --http: where to listen (127.0.0.1).")
@click.option("--port", type=click.IntRange(0, 65_535), metavar="N", help="With --http: the port (8766).")
@click.option(
    "--token",
    metavar="TOKEN",
    help="With --http: what clients must send; else RECOLLECT_TOKEN, else that of recollect serve.",
)
@click.option(
    "--allow-host",
    "names",
    multiple=True,
    metavar="NAME",
    help="With --http: answer to this host name too; needed to listen beyond loopback.",
)
def mcp(
    door: Door,
    tools: str,
    max_tokens: int,
    agent: str | None,
    http: bool,
    host: str | None,
    port: int | None,
    token: str | None,
    names: tuple[str, ...],
) -> None:
    """Serve an agent over the Model Context Protocol; needs recollect[mcp].

    Speaks on standard input and output with the client that started it, until that closes. Each connection
    is a session, which begins with its first recall or memory and ends with it. The namespace "." is the
    project that the working folder is in. See docs/mcp.md.

    \b
    Example:
      recollect mcp --namespace .
      recollect mcp --tools all --max-tokens 4000 --store notes.db
      recollect mcp --http --port 8766
    """
    if not http and (host is not None or port is not None or token is not None or names):
        raise click.UsageError("--host, --port, --token and --allow-host go with --http.")
    if token == "":
        raise click.UsageError("The token is empty: give one, or leave it out for a random one.")
    _log_to_stderr()
    try:
        from recollect.doors.mcp.server import AgentDoor
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "recollect":
            raise
        raise ConfigError(
            f"The MCP server needs the mcp package ({error}): pip install 'recollect[mcp]'."
        ) from error
    with door.open(create=True) as memories:
        served = AgentDoor(
            memories,
            tools="all" if tools == "all" else "basic",
            max_tokens=max_tokens,
            agent=agent,
            warm=True,
        )
        if http:
            _serve_http(door, served, host, port, token, names)
        else:
            from recollect.doors.mcp import stdio

            if sys.stdin.isatty():
                door.note(
                    "A client is expected on standard input; Ctrl-D or Ctrl-C ends it. See docs/mcp.md."
                )
            stdio.serve(served)
        served.wait()


def _serve_http(
    door: Door,
    served: AgentDoor,
    host: str | None,
    port: int | None,
    token: str | None,
    names: tuple[str, ...],
) -> None:
    from recollect.doors import listening
    from recollect.doors.http.tokens import OWNER, made, owner_of, tokens_of_user
    from recollect.doors.mcp import http

    place = host or http.HOST
    http.check_reach(place, names)
    owner = made(OWNER, token) if token else owner_of(tokens_of_user())
    with listening.listening(place, http.PORT if port is None else port) as bound:
        shown = place if listening.is_loopback(place) else names[0]
        at = f"{listening.address(bound, shown)}{http.PATH}"
        door.answer(
            {"url": at, "token": owner.text, "namespace": served.namespace},
            [
                f"Serving {render.one_line(served.namespace)} at {at}",
                f"Send this with every request: Authorization: Bearer {owner.text}",
            ],
        )
        door.note("Press Ctrl-C to stop.")
        sys.stdout.flush()
        http.serve(served, bound, str(owner.text), names)


def _log_to_stderr() -> None:
    """Nothing but the protocol may be written to standard output."""
    import logging

    logging.basicConfig(level=logging.WARNING, format="%(name)s: %(message)s")
