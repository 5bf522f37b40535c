"""PostgreSQL's errors in our own words: what happened, what to do, and whether trying again may help."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors

from recollect.errors import (
    InvalidInput,
    NotAStore,
    RecollectError,
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnreachable,
)
from recollect.store.postgres.address import Address
from recollect.store.postgres.pool import PoolExhausted

Kinds = type[psycopg.Error] | tuple[type[psycopg.Error], ...]

_CUT = (
    errors.AdminShutdown,
    errors.CrashShutdown,
    errors.CannotConnectNow,
    errors.IdleSessionTimeout,
    errors.IdleInTransactionSessionTimeout,
)
_REFUSALS: tuple[tuple[str, type[psycopg.Error]], ...] = (
    ("too many (clients|connections)|remaining connection slots", errors.TooManyConnections),
    ("authentication failed|pg_hba.conf|no password supplied|role .* (exist|log in)", errors.InvalidPassword),
    ("database .* does not exist", errors.InvalidCatalogName),
    ("permission denied for database", errors.InsufficientPrivilege),
)
_PREAMBLE = re.compile(r"^(connection failed: )?(connection to server .*? failed: )?((FATAL|ERROR): +)?")


def is_lost(error: psycopg.Error) -> bool:
    """Whether the connection is gone, or the server is going or coming: another connection may do."""
    if isinstance(error, _CUT):
        return True
    if isinstance(error, PoolExhausted) or not isinstance(error, psycopg.OperationalError):
        return False
    if error.sqlstate is None:  # it was not the server that spoke, or it spoke before it let us in
        return refusal(error) is None
    return error.sqlstate.startswith("08")


def is_passing(error: psycopg.Error) -> bool:
    """Whether another connection may do, now or soon."""
    full = errors.TooManyConnections
    return is_lost(error) or isinstance(error, full) or refusal(error) is full


def is_starting(error: psycopg.Error) -> bool:
    """Whether the server is there, and says that it will let us in soon."""
    return "FATAL" in str(error) and "the database system is" in str(error)


def is_conflict(error: psycopg.Error) -> bool:
    """Whether two transactions got in each other's way: this one is undone and can be tried again."""
    return isinstance(error, (errors.SerializationFailure, errors.DeadlockDetected))


def refusal(error: psycopg.Error) -> type[psycopg.Error] | None:
    """Why a server that is there would not let us in; there is no code for it, only its words."""
    if error.sqlstate is not None:
        return None
    return next((kind for words, kind in _REFUSALS if re.search(words, str(error))), None)


@contextmanager
def translated(address: Address) -> Iterator[None]:
    """Turn psycopg's errors into ours, once for all."""
    try:
        yield
    except psycopg.Error as error:
        raise in_our_words(error, address) from error


def in_our_words(error: psycopg.Error, address: Address) -> RecollectError:
    """The error of ours that says the same, with what to do about it."""
    given = {"where": str(address), "reason": reason(error)}
    kind = refusal(error) or type(error)
    if kind is errors.InsufficientPrivilege and "row-level security" in given["reason"]:
        return StoreError(NOT_GRANTED.format(**given))
    for kinds, ours, sentence in _MEANINGS:
        if issubclass(kind, kinds):
            return ours(sentence.format(**given))
    if is_lost(error):
        return StoreUnreachable(UNREACHABLE.format(**given))
    return StoreError("{where} could not do it ({reason}).".format(**given))


def reason(error: psycopg.Error) -> str:
    """What PostgreSQL or libpq says, in one line and without who says it.

    >>> reason(psycopg.OperationalError('connection to server at "db", port 5432 failed: FATAL:  sorry'))
    'sorry'
    """
    lines = str(error).strip().splitlines() or ["no reason given"]
    return _PREAMBLE.sub("", " ".join(lines[0].split()))


NOT_GRANTED = "This user may not write to that namespace of {where}: have its owner run recollect grant."
UNREACHABLE = "The server of {where} can't be reached ({reason}): see that it runs and that the URL is right."
READ_ONLY = "{where} can't be written, it is a replica or set to read-only: give the URL of the primary."

_MEANINGS: tuple[tuple[Kinds, type[RecollectError], str], ...] = (
    (
        PoolExhausted,
        StoreBusy,
        "Every connection to {where} was in use for too long: set pool_size in its URL higher, or try later.",
    ),
    (
        errors.TooManyConnections,
        StoreBusy,
        "{where} accepts no more connections ({reason}): set pool_size in the URL lower, or use a pooler.",
    ),
    (
        (errors.LockNotAvailable, errors.DeadlockDetected, errors.SerializationFailure),
        StoreBusy,
        "Others kept writing to this namespace of {where}: nothing was changed, try again later.",
    ),
    (
        (errors.QueryCanceled, errors.TransactionTimeout),
        StoreBusy,
        "{where} stopped a statement ({reason}): nothing was changed; raise its time limit, or ask for less.",
    ),
    (
        (errors.DiskFull, errors.OutOfMemory),
        StoreFull,
        "{where} has no room left ({reason}): make room; nothing was changed.",
    ),
    (errors.ReadOnlySqlTransaction, StoreReadOnly, READ_ONLY),
    (
        (errors.InvalidPassword, errors.InvalidAuthorizationSpecification),
        StoreError,
        "{where} refuses this user ({reason}): check the user and password in the URL.",
    ),
    (
        (errors.InvalidCatalogName, errors.DatabaseDropped),
        StoreError,
        "There is no such database: {where} ({reason}). Make it first, with createdb.",
    ),
    (
        errors.InsufficientPrivilege,
        StoreError,
        "This user may not do that in {where} ({reason}): have its owner GRANT it, or give the owner's URL.",
    ),
    (
        (errors.UndefinedTable, errors.InvalidSchemaName, errors.UndefinedColumn),
        NotAStore,
        "{where} has no Recollect tables as this version needs them ({reason}): run recollect init.",
    ),
    (
        (errors.DataCorrupted, errors.IndexCorrupted),
        StoreDamaged,
        "{where} is damaged ({reason}): restore it from a backup, or REINDEX if it is an index.",
    ),
    (
        errors.UniqueViolation,
        StoreError,
        "Another program wrote rows to {where} ({reason}): run recollect backfill, which counts them.",
    ),
    (
        (errors.ProgramLimitExceeded, errors.CharacterNotInRepertoire, errors.UntranslatableCharacter),
        InvalidInput,
        "PostgreSQL can't keep that ({reason}): nothing was changed; give shorter ids and names.",
    ),
)
