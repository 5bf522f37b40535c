"""What a caller may send: JSON Schema for the parameters and bodies of all operations, in one place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recollect.checks import LARGEST_LIMIT, LONGEST_DOCUMENT, LONGEST_NAME, LONGEST_TEXT
from recollect.types import (
    CONFIDENCES,
    FACTORS,
    FUSIONS,
    KINDS,
    MODES,
    READINGS,
    SECTORS,
    TIERS,
    TRUSTS,
)

Schema = dict[str, Any]
Properties = Mapping[str, Schema]


def described(schema: Schema, text: str) -> Schema:
    """A schema with a sentence."""
    return {**schema, "description": text}


def several(item: Schema, most: int = 100) -> Schema:
    """A list."""
    return {"type": "array", "items": item, "maxItems": most}


def one_of(choices: tuple[str, ...]) -> Schema:
    """One of a few words."""
    return {"type": "string", "enum": list(choices)}


def number(least: float, most: float) -> Schema:
    """A number within bounds."""
    return {"type": "number", "minimum": least, "maximum": most}


def count(default: int, least: int = 1, most: int = LARGEST_LIMIT) -> Schema:
    """A whole number within bounds."""
    return {"type": "integer", "minimum": least, "maximum": most, "default": default}


def body(properties: Properties, *required: str, **more: Any) -> Schema:
    """An object with these properties and no others."""
    needed = {"required": list(required)} if required else {}
    return {
        "type": "object",
        "properties": dict(properties),
        **needed,
        "additionalProperties": False,
        **more,
    }


FLAG: Schema = {"type": "boolean", "default": False}
NAME: Schema = {
    "type": "string",
    "minLength": 1,
    "maxLength": LONGEST_NAME,
    "pattern": r"^[^\S\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$",
}
TEXT: Schema = {"type": "string", "minLength": 1, "maxLength": LONGEST_TEXT}
QUERY: Schema = {"type": "string", "maxLength": LONGEST_TEXT}
MOMENT: Schema = {
    "type": "string",
    "anyOf": [{"format": "date-time"}, {"format": "date"}],
    "examples": ["2026-03-01", "2026-03-01T10:00:00+01:00"],
}
METADATA: Schema = {"type": "object", "description": "Anything else, as JSON."}
WEIGHTS: Schema = {
    "type": "object",
    "additionalProperties": number(0, 1000),
    "examples": [{"semantic": 0.5, "keyword": 0.5}],
}
NAMES = several(NAME)
IDS = {**several(NAME, LARGEST_LIMIT), "minItems": 1}

FILTERS: Properties = {
    "sector": described(several(one_of(SECTORS)), "Of any of these sectors."),
    "tier": described(several(one_of(TIERS)), "Of any of these tiers."),
    "kind": described(several(one_of(KINDS)), "Memories (the default), passages of documents, or both."),
    "tags": described(NAMES, "With all of these tags."),
    "speaker": described(NAMES, "Said by any of these."),
    "session": described(NAMES, "Made in any of these sessions, or said again or changed there."),
    "document": described(NAMES, "Passages of any of these documents."),
    "language": described(several({"type": "string", "pattern": "^[a-z]{2,4}$"}), "In any of these."),
    "min_salience": described(number(0, 1), "At least so salient now."),
    "include_superseded": described(FLAG, "Also what another memory has taken the place of."),
    "since": described(MOMENT, "Not older than this."),
    "until": described(MOMENT, "Older than this."),
    "as_of": described(MOMENT, "What was believed at that moment; a date means its end."),
}
TIMEFRAME = described({"type": "string", "maxLength": 500, "examples": ["last week"]}, "A time in words.")

RECALL: Properties = {
    "query": described(QUERY, "The question, in plain words."),
    "limit": described(count(10), "At most so many hits."),
    "mode": described({**one_of(MODES), "default": "hybrid"}, "Which legs run; auto decides."),
    "fusion": described({**one_of(FUSIONS), "default": "mix"}, "How the legs become one list."),
    "weights": described(WEIGHTS, "How much each part counts, by name."),
    "threshold": described(number(-1, 1), "The least cosine of what is found by meaning alone."),
    "timeframe": TIMEFRAME,
    "include_documents": described(FLAG, "Passages of documents too."),
    "neighbours": described(count(0, 0, 20), "What was said that many places before and after."),
    "prefilter_limit": described(count(100, 1, 10_000), "How many words find for fusion=rerank."),
    "rerank": described(several(one_of(FACTORS)), "Reorder by these factors."),
    "expand": described(several(QUERY, 50), "Search these words too."),
    "min_confidence": described(
        {**one_of(CONFIDENCES), "default": "none"}, "Give nothing when an answer is less likely than this."
    ),
    "reinforce": described({"type": "boolean", "default": True}, "Whether this counts as use."),
    "in_session": described(NAME, "The session that asks: what is returned is linked to it."),
    "namespaces": described(NAMES, "Search in these namespaces, in place of the one of the request."),
    **FILTERS,
}

MEMORY_FIELDS: Properties = {
    "session": described(NAME, "The session that it belongs to; made when it is not there."),
    "speaker": described(NAME, "Who said it: it is a turn of a conversation then, never merged."),
    "created_at": described(MOMENT, "When it was said; now, if nothing is said."),
    "sector": described(one_of(SECTORS), "What kind of memory it is; else read from the text."),
    "tier": described({**one_of(TIERS), "default": "project"}, "How far it reaches."),
    "tags": described(NAMES, "Labels."),
    "files": described(several({"type": "string", "minLength": 1, "maxLength": 500}), "Files it is about."),
    "importance": described({**number(0, 1), "default": 0.5}, "Where its salience starts."),
    "summary": described(TEXT, "A shorter form, for lists."),
    "language": described({"type": "string", "pattern": "^[a-z]{2,4}$"}, "Its language, such as en."),
    "metadata": METADATA,
    "source": described({"type": "string", "minLength": 1, "maxLength": 500}, "Where it comes from."),
    "trust": described({**one_of(TRUSTS), "default": "normal"}, "How far it may be believed."),
    "valid_from": described(MOMENT, "When it begins to hold."),
    "valid_until": described(MOMENT, "When it ceases to hold."),
    "expires_at": described(MOMENT, "When it may no longer be found."),
}
DRAFT: Properties = {
    "text": described(TEXT, "What is to be remembered."),
    "id": described(NAME, "An id of your own; else one is made."),
    "vector": described(
        several({"type": "number"}, 4096), "Its vector, if you embed elsewhere with the store's own model."
    ),
    **MEMORY_FIELDS,
}
ON_DUPLICATE: Schema = {
    "type": "string",
    "enum": ["reinforce", "keep"],
    "default": "reinforce",
    "description": "What the same text again does: reinforce what is there, or be kept as another.",
}
CHANGES: Properties = {"text": described(TEXT, "A new text."), **MEMORY_FIELDS}
DOCUMENT: Properties = {
    "name": described(NAME, "What it is known by; the same name again replaces it."),
    "text": described(
        {"type": "string", "minLength": 1, "maxLength": LONGEST_DOCUMENT},
        "Markdown or plain text.",
    ),
    "metadata": METADATA,
}
READING = {**one_of(READINGS), "default": "known"}
CURSOR = described({"type": "string", "maxLength": 2000}, "Where to go on: `next` of the page before.")
PAGE: Properties = {"limit": count(100), "cursor": CURSOR}
NAMESPACE = described(NAME, "The namespace to work in; else that of the token, else that of the server.")
