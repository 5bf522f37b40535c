"""PostgreSQL's errors in our own words: what happened, what to do, and whether trying again may help."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors
from psycopg_pool import PoolTimeout

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


def is_lost(error: psycopg.Error) -> bool:
    """Whether the connection is gone, or the server is going or coming: another connection may do."""
    if isinstance(error, (errors.AdminShutdown, errors.CrashShutdown, errors.CannotConnectNow)):
        return True
    if isinstance(error, PoolTimeout) or not isinstance(error, psycopg.OperationalError):
        return False
    if error.sqlstate is None:  # it was not the server that spoke, or it spoke before it let us in
        return refusal(error) is None
    return error.sqlstate.startswith("08")


def refusal(error: psycopg.Error) -> Kinds | None:
    """Why a server that is there would not let us in; there is no code for it, only the server's words."""
    said = str(error)
    if "FATAL" not in said:
        return None
    return next((kind for words, kind in _REFUSALS if any(word in said for word in words)), None)


def is_conflict(error: psycopg.Error) -> bool:
    """Whether two transactions got in each other's way: this one is undone and can be tried again."""
    return isinstance(error, (errors.SerializationFailure, errors.DeadlockDetected))


@contextmanager
def translated(address: Address) -> Iterator[None]:
    """Turn psycopg's errors into ours, once for all."""
    try:
        yield
    except psycopg.Error as error:
        raise in_our_words(error, address) from error


def in_our_words(error: psycopg.Error, address: Address) -> RecollectError:
    """The error of ours that says the same, with what to do about it."""
    reason = " ".join(str(error).strip().splitlines()[0].split()) if str(error).strip() else "no reason given"
    refused = refusal(error) if error.sqlstate is None else None
    for kinds, ours, sentence in _MEANINGS:
        if isinstance(error, kinds) or kinds is refused:
            return ours(sentence.format(where=address, reason=reason, schema=address.schema))
    if is_lost(error):
        return StoreUnreachable(
            f"The PostgreSQL server of {address} can't be reached ({reason}): "
            "is it running, and is the URL right?"
        )
    return StoreError(f"{address} could not do it ({reason}).")


Kinds = type[psycopg.Error] | tuple[type[psycopg.Error], ...]

_NOT_ADMITTED = (errors.InvalidPassword, errors.InvalidAuthorizationSpecification)
_REFUSALS: tuple[tuple[tuple[str, ...], Kinds], ...] = (
    (("too many", "remaining connection slots"), errors.TooManyConnections),
    (("authentication failed", "pg_hba.conf", "role "), _NOT_ADMITTED),
    (('database "',), errors.InvalidCatalogName),
)

_MEANINGS: tuple[tuple[Kinds, type[RecollectError], str], ...] = (
    (
        PoolTimeout,
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
        errors.QueryCanceled,
        StoreBusy,
        "{where} stopped a statement ({reason}): nothing was changed; raise its time limit, or ask for less.",
    ),
    (
        (errors.DiskFull, errors.OutOfMemory),
        StoreFull,
        "{where} has no room left ({reason}): make room; nothing was changed.",
    ),
    (
        errors.ReadOnlySqlTransaction,
        StoreReadOnly,
        "{where} can't be written: it is a replica or set to read-only; give the URL of the primary.",
    ),
    (
        _NOT_ADMITTED,
        StoreError,
        "{where} refuses this user ({reason}): check the user and password in the URL.",
    ),
    (
        errors.InvalidCatalogName,
        StoreError,
        "There is no such database: {where} ({reason}). Make it first, with createdb.",
    ),
    (
        errors.InsufficientPrivilege,
        StoreError,
        "This user may not do that in {where} ({reason}): run recollect init as its owner, or get the right.",
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
        (errors.ProgramLimitExceeded, errors.CharacterNotInRepertoire, errors.UntranslatableCharacter),
        InvalidInput,
        "PostgreSQL can't keep that ({reason}): nothing was changed; give shorter ids and names.",
    ),
)
