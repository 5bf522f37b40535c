"""docs/cli.md, made from the program: `python -m recollect.doors.cli.reference > docs/cli.md`."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator

import click

from recollect.doors.cli.door import SHARED
from recollect.doors.cli.program import COMMANDS, EXIT_CODES, NAME, recollect

_INTRODUCTION = """\
# The command line

This page is made from the program itself: `python -m recollect.doors.cli.reference > docs/cli.md`.

Answers go to standard output, notes and errors to standard error. Control characters and bidirectional
overrides in memories are shown escaped, never obeyed.

## For programs

- `--json`: the answer is one JSON document, the same that the other doors give.
- `--jsonl`: JSON lines. An answer that is a list (`search`, `show`, `timeline`, `sessions`, `ingest`,
  `documents`, `relate --list`, `doctor`) gives one line for each element, any other answer is one line. A
  line of `search` is a hit with its `query` and `rank`.
- What has several answers, or no end, is one line for each with `--json` too: the questions of `search -`,
  the events of `watch`. Each line is written when it is known. `export` always writes JSON lines.
- `-` is standard input wherever a text or a file is asked for: `add`, `--summary`, `supersede --text`,
  `context`, `sessions summarise`, `ingest`, `import`, `bench --texts`. `search -` reads
  questions, one a line.
- `-q` leaves notes and progress out, and where an id is the answer prints the id alone.

```
$ printf 'which port?\\nwho reviews?\\n' | recollect search - --json |
>   jq -r '[.query, .confidence, .hits[0].memory.content] | @tsv'
which port?	strong	The API listens on port 9090
who reviews?	strong	Grace reviews all migrations
```

## At a terminal

Tables, colours and progress bars are for terminals; `pip install 'recollect[rich]'` makes them nicer.
`--color always` and `--color never` decide about colours; else `NO_COLOR` turns them off, else `FORCE_COLOR`
turns them on, else they are for terminals other than `TERM=dumb`.

`recollect search` without a query asks for questions. The model is loaded once, while the first is typed.

```
$ recollect search -l 1
Ask a question. help says what else can be done; an empty line leaves.
search> which port?
 1  0.971  2026-11-16 06:58  6454658cfd2c
    The API listens on port 9090
search> :mode keyword
:limit 1
:mode keyword
 1  0.971  2026-11-16 06:58  6454658cfd2c
    The API listens on port 9090
search> help
@HELP@
```

`recollect completion` prints a script for bash, zsh or fish. It completes commands, options and their
values, and from the store that the line names: namespaces, the latest ids, sessions, tags, speakers and
documents. It never makes a store, loads no model, and gives up after two seconds.

## Folders that are followed

```
$ recollect watch notes
notes/ports.md  added, 1 passage
Watching notes: 1 document (1 added).
notes/ports.md  replaced, 2 passages
notes/deploy.md  added, 1 passage
notes/deploy.md  forgotten, 1 passage
Stopped.
```

With `--json` an event has `event` (added, replaced, unchanged, forgotten, skipped, waiting; of a folder:
watching, gone, back), `name`, `passages` and `reason`.

## Ids and times

Wherever an id is asked for, its last characters are enough if no other id ends so. Times are in UTC: a
date (`2026-03-01`), a date and time (`2026-03-01T10:00`), or one with an offset (`2026-03-01T10:00+01:00`).
"""


def reference() -> str:
    """The whole page."""
    context = click.Context(recollect, info_name=NAME)
    from recollect.doors.cli.asking import HELP

    parts = [_INTRODUCTION.replace("@HELP@", HELP), "## Exit codes\n", "| code | meaning |\n|---|---|"]
    parts += [f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items()]
    parts += ["\n## Shared options\n\nBefore or after the command:\n", *_options(SHARED)]
    parts += [
        "- `--version`: Show the version.",
        "- `-h`, `--help`: Show help, for the whole or for a command.",
    ]
    for section, names in COMMANDS.items():
        parts.append(f"\n## {section}")
        for name in names:
            command = recollect.get_command(context, name)
            assert command is not None
            parts += _command(command, f"{NAME} {name}")
    return "\n".join(parts) + "\n"


def _command(command: click.Command, path: str) -> Iterator[str]:
    arguments = [each.metavar or "" for each in command.params if isinstance(each, click.Argument)]
    usage = [path, "[OPTIONS]", *arguments, *(["[COMMAND]"] if isinstance(command, click.Group) else [])]
    yield f"\n### {path}\n\n```\n{' '.join(usage)}\n```\n"
    yield "\n\n".join(_paragraphs(command.help or ""))
    options = list(_options(command.params))
    if options:
        yield "\n" + "\n".join(options)
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from _command(inner, f"{path} {name}")


def _paragraphs(text: str) -> Iterator[str]:
    """The help as Markdown; what must keep its lines becomes a block of code."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        if paragraph.startswith("\b"):
            lines = [line.strip() for line in paragraph.splitlines()[2:]]
            yield "\n".join(("```sh", *lines, "```"))
        else:
            yield paragraph


def _options(parameters: Iterable[click.Parameter]) -> Iterator[str]:
    for option in parameters:
        if isinstance(option, click.Option) and not option.hidden:
            names = ", ".join(f"`{name}{_value(option)}`" for name in (*option.opts, *option.secondary_opts))
            repeated = (
                " May be repeated." if option.multiple and "repeated" not in (option.help or "") else ""
            )
            yield f"- {names}: {option.help}{repeated}"


def _value(option: click.Option) -> str:
    if option.is_flag:
        return ""
    choices = option.type.choices if isinstance(option.type, click.Choice) else ()
    return " " + (option.metavar or "|".join(map(str, choices)) or option.type.name.upper())


if __name__ == "__main__":
    click.echo(reference(), nl=False)
