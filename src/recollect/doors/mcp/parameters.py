"""What tools are given: each parameter's type, bounds and description, for the model to read."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from recollect.checks import LONGEST_NAME, LONGEST_TEXT
from recollect.types import SECTORS, Sector, Trust

MOST_HITS = 50
MOST_IDS = 20
FURTHEST = 900


def _listed(value: object) -> object:
    """One alone may be given as a string."""
    return [value] if isinstance(value, str) else value


Name = Annotated[str, Field(max_length=LONGEST_NAME)]
Id = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]

Query = Annotated[
    str,
    Field(
        min_length=1,
        max_length=1_000,
        description="What you want to know, as a question or as words; names and numbers exactly. "
        'A time in it ("last week") is a preference.',
    ),
]
Limit = Annotated[int, Field(ge=1, le=MOST_HITS, description="At most so many.")]
Offset = Annotated[int, Field(ge=0, le=FURTHEST, description="Skip so many, to read on.")]
Timeframe = Annotated[
    str,
    Field(
        max_length=200,
        description='Only within this time, in words or dates: "last week", "since March", "2026-03-01".',
    ),
]
Tags = Annotated[
    list[Name],
    BeforeValidator(_listed),
    Field(max_length=20, description="Only what has all of these tags."),
]
NewTags = Annotated[
    list[Name],
    BeforeValidator(_listed),
    Field(max_length=20, description="A few words to find it by later, such as decision or billing."),
]
Files = Annotated[
    list[Name], BeforeValidator(_listed), Field(max_length=50, description="Paths of files that it is about.")
]
Session = Annotated[Name, Field(description="Only of the session with this id.")]
Speaker = Annotated[Name, Field(description="Only what this speaker said.")]
Superseded = Annotated[bool, Field(description="Also what something newer has taken the place of.")]
Documents = Annotated[bool, Field(description="Also passages of documents that were taken in.")]
Detail = Annotated[
    Literal["snippets", "full"],
    Field(description="snippets, or full: whole texts and every number that the scores are made of."),
]
Around = Annotated[
    Name, Field(description="The id of a memory: what was remembered before and after it. Else the latest.")
]
Places = Annotated[int, Field(ge=0, le=MOST_HITS, description="With an id: so many on this side of it.")]
Ids = Annotated[
    list[Id],
    BeforeValidator(_listed),
    Field(min_length=1, max_length=MOST_IDS, description="Ids, whole or their last characters."),
]
Part = Annotated[int, Field(ge=1, le=100_000, description="Which part of a long text; with one id only.")]
Text = Annotated[
    str,
    Field(
        min_length=1,
        max_length=LONGEST_TEXT,
        description="One thing, in words that can be understood without this conversation: names instead of "
        '"it", dates instead of "today", and the reason if there is one.',
    ),
]
NewSector = Annotated[
    Literal["", "episodic", "semantic", "procedural", "emotional", "reflective"],
    Field(description="What kind of memory; read from the text if not given."),
]
Importance = Annotated[float, Field(ge=0, le=1, description="How much it matters, from 0 to 1.")]
Source = Annotated[Name, Field(description="Where it comes from, such as a file, a URL or a person.")]
GivenTrust = Annotated[
    Trust, Field(description="low for what comes from web pages, mails and other people's text.")
]
SaidBy = Annotated[
    Name, Field(description="Who said it; for a turn of a conversation kept word for word, never merged.")
]
Expires = Annotated[
    str, Field(max_length=40, description="Until when to keep it: a date or time (ISO 8601).")
]
Old = Annotated[Id, Field(description="The id of the memory that no longer holds.")]
New = Annotated[Name, Field(description="The id of the memory that holds instead.")]
NewText = Annotated[
    str, Field(max_length=LONGEST_TEXT, description="Or its text, if it is not remembered yet.")
]
From = Annotated[Id, Field(description="The id of the memory that the relation starts from.")]
To = Annotated[Id, Field(description="The id of the memory that it points to.")]
RelationType = Annotated[
    Id, Field(description="How they are related, such as caused_by, part_of or related_to.")
]
Confirm = Annotated[
    bool, Field(description="The user has agreed. Needed where the client can't ask the user itself.")
]
ContextTokens = Annotated[
    int, Field(ge=50, le=1_000_000, description="At most so many tokens; the server's budget is the most.")
]


def sector_or_none(given: str) -> Sector | None:
    """A sector, where one was given."""
    return next((sector for sector in SECTORS if sector == given), None)
