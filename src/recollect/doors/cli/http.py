"""Commands for the HTTP server: serve, token."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from recollect.doors.cli import render
from recollect.doors.cli.door import Door, command, group
from recollect.errors import ConfigError, InvalidInput

if TYPE_CHECKING:
    from recollect.doors.http.guarding import Guard
    from recollect.doors.http.tickets import Ticket
    from recollect.doors.http.tokens import Token, TokenFile

PORT = 7077


@command()
@click.option("--host", default="127.0.0.1", metavar="ADDRESS", help="Where to listen (127.0.0.1).")
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, help=f"The port ({PORT}); 0 for any.")
@click.option("--allow-host", multiple=True, metavar="NAME", help="A name that the server is reached by.")
@click.option("--allow-origin", multiple=True, metavar="URL", help="A page elsewhere that may ask.")
@click.option("--remote", is_flag=True, help="Let other machines in: needed for any address but loopback.")
@click.option("--max-body", type=click.IntRange(1), default=32_000_000, metavar="BYTES", help="Of a request.")
@click.option(
    "--max-answer", type=click.IntRange(1), default=64_000_000, metavar="BYTES", help="Of an answer."
)
@click.option("--no-page", is_flag=True, help="The API alone, without the web page.")
@click.option("--open", "show", is_flag=True, help="Open the page in a browser.")
def serve(door: Door, host: str, port: int, show: bool, **given: Any) -> None:
    """Serve the memories over HTTP, with a web page to search and look after them.

    At the first start a token is made; every request needs it, but for /health and the page's shell. The
    API is described at /openapi.json. Ends with Ctrl-C.

    \b
    Example:
      recollect serve --open
      curl -H "Authorization: Bearer $TOKEN" localhost:7077/v1/stats
    """
    server = _imported()
    from recollect.doors.http.tickets import Ticket
    from recollect.doors.http.tokens import owner_of, tokens_of_user

    tokens = tokens_of_user()
    owner = owner_of(tokens)
    guard = _guard(host, owner, tokens, given)
    has_page = not given["no_page"]
    ticket = Ticket(str(owner.text)) if show and has_page else None
    with door.open(create=True) as memories:
        limits = server.Limits(given["max_body"], given["max_answer"])
        app = server.application(memories, guard, limits, with_page=has_page, ticket=ticket)
        server.run(app, host, port, lambda url: _greet(door, url, owner, ticket, has_page=has_page))


def _imported() -> Any:
    try:
        from recollect.doors.http import running
    except ImportError as error:
        raise ConfigError(f"The server needs more ({error}): pip install 'recollect[server]'.") from error
    return running


def _guard(host: str, owner: Token, tokens: TokenFile, given: dict[str, Any]) -> Guard:
    from recollect.doors.http.guarding import Guard, host_of, named_host, named_origin
    from recollect.doors.listening import LOOPBACK, is_loopback

    if not is_loopback(host) and not given["remote"]:
        raise InvalidInput(f"{host} can be reached from other machines: add --remote if that is meant.")
    from recollect import config

    def let_in() -> tuple[Token, ...]:
        """Those in the file, as it is now; in place of the owner's there, the one that was given."""
        known = tokens.tokens()
        return (owner, *(each for each in known if each.name != owner.name)) if config.token() else known

    hosts = {host_of(f"[{host}]" if ":" in host else host), *map(named_host, given["allow_host"])}
    return Guard(
        let_in,
        frozenset(LOOPBACK | hosts - {""}),
        frozenset(map(named_origin, given["allow_origin"])),
    )


def _greet(door: Door, url: str, owner: Token, ticket: Ticket | None, *, has_page: bool) -> None:
    page = f"{url}/#token={owner.text}" if has_page else None
    told = f"The page: {page}" if has_page else f"The token: {owner.text}"
    door.answer({"url": url, "token": owner.text, "page": page}, [f"Serving on {url}", told])
    door.note("Press Ctrl-C to stop.")
    sys.stdout.flush()
    if ticket:  # whoever lists the processes of the machine sees what a browser was started with
        click.launch(f"{url}/#ticket={ticket.text}")


@group
def token(door: Door) -> None:
    """List the tokens that the HTTP server lets in, or add or remove one.

    \b
    Example:
      recollect token
      recollect token add dashboard --read-only -n team
    """
    from recollect.doors.http.tokens import tokens_of_user

    known = tokens_of_user().tokens()
    rows = ([each.name, _rights(each), render.one_line(each.namespace or "all")] for each in known)
    door.answer([_shown(each) for each in known], render.table(("name", "may", "namespace"), rows))


@command(token, "add")
@click.argument("name", metavar="NAME")
@click.option("--read-only", is_flag=True, help="It may read, and change nothing.")
def add_token(door: Door, name: str, read_only: bool) -> None:
    """Make a token; it is shown this once. With -n it is good for that namespace alone.

    \b
    Example:
      recollect token add dashboard --read-only -n team
    """
    from recollect.doors.http.tokens import made, tokens_of_user

    added = tokens_of_user().add(made(name, read_only=read_only, namespace=door.namespace))
    door.answer({**_shown(added), "token": added.text}, str(added.text))


@command(token, "remove")
@click.argument("name", metavar="NAME")
def remove_token(door: Door, name: str) -> None:
    """Refuse a token from now on; a running server does so at once.

    \b
    Example:
      recollect token remove dashboard
    """
    from recollect.doors.http.tokens import tokens_of_user

    tokens_of_user().remove(name)
    door.answer({"removed": name}, f"removed {render.one_line(name)}")


def _rights(token: Token) -> str:
    return "read" if token.read_only else "read and write"


def _shown(token: Token) -> dict[str, Any]:
    return {key: value for key, value in asdict(token).items() if key not in ("hash", "text")}
