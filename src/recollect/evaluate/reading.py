"""From files to an `EvalSet`: a folder of ours, or a file of LoCoMo or LongMemEval as it was published.

A folder has `corpus.jsonl`, `queries.jsonl` and `qrels.tsv`. Every error names the file and the line.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from recollect import checks
from recollect.errors import InvalidInput
from recollect.evaluate import conversations
from recollect.evaluate.sets import Document, EvalSet, Question, assemble
from recollect.times import moment

CORPUS, QUESTIONS, RELEVANCE = "corpus.jsonl", "queries.jsonl", "qrels.tsv"
Item = TypeVar("Item", Document, Question)


def read(path: Path) -> EvalSet:
    """The set that lies there, whichever of the three forms it has."""
    if path.is_dir():
        return _folder(path)
    try:
        content = json.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        raise InvalidInput(f"{path} can't be read ({error.strerror}).") from error
    except UnicodeDecodeError:
        raise InvalidInput(f"{path} is not UTF-8 text.") from None
    except json.JSONDecodeError as error:
        raise InvalidInput(f"{path}, line {error.lineno:,}: it is not JSON ({error.msg}).") from None
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{path} is not JSON that can be read ({error}).") from None
    return conversations.read(content, path)


def _folder(folder: Path) -> EvalSet:
    documents = _items(folder / CORPUS, _document)
    questions = _items(folder / QUESTIONS, _question)
    relevance = _relevance(folder / RELEVANCE, documents)
    return assemble(folder.resolve().name, documents.values(), questions.values(), relevance)


def _items(path: Path, make: Callable[[Mapping[str, Any]], Item]) -> dict[str, Item]:
    """What the lines of a file say, by id; an id may not come twice."""
    items: dict[str, Item] = {}
    for number, line in _lines(path):
        try:
            made = make(_record(line))
        except InvalidInput as error:
            raise InvalidInput(f"{path}, line {number:,}: {error}") from None
        if made.id in items:
            raise InvalidInput(f"{path}, line {number:,}: the id {made.id!r} came before: give each its own.")
        items[made.id] = made
    return items


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file that have something on them, and their numbers."""
    if not path.is_file():
        raise InvalidInput(
            f"There is no {path.name} in {path.parent}: a set is a folder with {CORPUS}, {QUESTIONS} and "
            f"{RELEVANCE}, or a file of LoCoMo or LongMemEval."
        )
    with path.open("rb") as stream:
        for number, raw in enumerate(stream, 1):
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                raise InvalidInput(f"{path}, line {number:,}: it is not UTF-8 text.") from None
            if line.strip():
                yield number, line.rstrip("\r\n")


def _record(line: str) -> Mapping[str, Any]:
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        raise InvalidInput(f"it is not JSON ({error.msg} at character {error.pos + 1}).") from None
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"it is not JSON that can be read ({error}).") from None
    if not isinstance(value, dict):
        raise InvalidInput("it is not a JSON object.")
    return value


def _document(record: Mapping[str, Any]) -> Document:
    return Document(
        _label(record, "id"),
        checks.text(record.get("text"), what="Its text"),
        scope=_optional_label(record, "scope") or "",
        session=_optional_label(record, "session"),
        speaker=_optional_label(record, "speaker"),
        created_at=_time(record),
    )


def _question(record: Mapping[str, Any]) -> Question:
    return Question(
        _label(record, "id"),
        checks.text(record.get("text"), what="Its text"),
        scope=_optional_label(record, "scope") or "",
        category=_optional_label(record, "category") or "",
        asked_at=_time(record),
        answerable=_answerable(record),
    )


def _answerable(record: Mapping[str, Any]) -> bool:
    given = record.get("answerable")
    if not isinstance(given, bool | None):
        raise InvalidInput(f"Its answerable is {given!r}: it must be true or false.")
    return given is not False


def _label(record: Mapping[str, Any], field: str) -> str:
    value = record.get(field)
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return checks.name(str(value) if is_number else value, what=f"Its {field}")


def _optional_label(record: Mapping[str, Any], field: str) -> str | None:
    return None if record.get(field) in (None, "") else _label(record, field)


def _time(record: Mapping[str, Any]) -> datetime | None:
    given = record.get("timestamp")
    return None if given in (None, "") else moment(given)


def _relevance(path: Path, documents: Mapping[str, Document]) -> dict[str, dict[str, int]]:
    """The grades; what is said of questions that are not asked here (other splits) is passed over."""
    grades: dict[str, dict[str, int]] = {}
    for number, line in _lines(path):
        fields = line.split("\t")
        if len(fields) != 3:
            raise InvalidInput(f"{path}, line {number:,}: it must have three fields with tabs between them.")
        question, document, grade = (field.strip() for field in fields)
        if number == 1 and not _is_whole(grade):
            continue
        if not _is_whole(grade):
            raise InvalidInput(f"{path}, line {number:,}: the relevance {grade!r} is not a whole number.")
        if document not in documents:
            raise InvalidInput(f"{path}, line {number:,}: there is no document {document!r} in {CORPUS}.")
        grades.setdefault(question, {})[document] = int(grade)
    return grades


def _is_whole(text: str) -> bool:
    return text.removeprefix("-").isascii() and text.removeprefix("-").isdigit()
