"""Row-level security: a role sees the namespaces that were granted to it, whatever SQL it sends.

Each namespace that is granted has a role of its own, without a login; who is a member of it sees the
namespace. The name of that role is a hash, for every user of a server can list its roles.
"""

from __future__ import annotations

import hashlib

import psycopg
from psycopg import errors, sql

from recollect.errors import InvalidInput, StoreError
from recollect.store.postgres.address import Address
from recollect.store.postgres.administration import TABLES
from recollect.store.postgres.statements import quoted


def secure(connection: psycopg.Connection, address: Address) -> None:
    """Switch row-level security on for every table; the owner of the tables still sees everything."""
    schema = quoted(address.schema)
    granted = sql.SQL(  # without a subquery, which Citus does not take in a policy; no such role counts as no
        "pg_has_role(current_user, to_regrole('recollect_' || md5({} || namespace))::oid, 'MEMBER')"
    ).format(sql.Literal(_store(connection, address)))
    with connection.transaction():
        for table in TABLES:
            name = sql.SQL(f"{schema}.{table}")
            connection.execute(sql.SQL("ALTER TABLE {} ENABLE ROW LEVEL SECURITY").format(name))
            connection.execute(sql.SQL("DROP POLICY IF EXISTS tenant ON {}").format(name))
            connection.execute(sql.SQL("CREATE POLICY tenant ON {} USING ({})").format(name, granted))


def grant(connection: psycopg.Connection, address: Address, role: str, namespace: str) -> None:
    """Let a role that is there read and write a namespace, and no other that was not granted to it."""
    if not _is_secured(connection, address):
        raise StoreError(
            f"Row-level security is not on in {address}, so a role would see every namespace: "
            "run recollect init --row-security first."
        )
    group, schema = role_of(connection, address, namespace), sql.SQL(quoted(address.schema))
    with connection.transaction():
        if not _role_exists(connection, group):
            try:
                connection.execute(sql.SQL("CREATE ROLE {} NOLOGIN").format(sql.Identifier(group)))
            except errors.InsufficientPrivilege as error:
                raise StoreError(
                    f"This user may not make roles in {address}: it needs CREATEROLE from a superuser."
                ) from error
        who = sql.Identifier(group)
        connection.execute(sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(schema, who))
        connection.execute(sql.SQL("GRANT SELECT ON {}.version TO {}").format(schema, who))
        for table in TABLES:
            connection.execute(
                sql.SQL("GRANT SELECT, INSERT, UPDATE, DELETE ON {}.{} TO {}").format(
                    schema, sql.Identifier(table), who
                )
            )
        try:
            connection.execute(sql.SQL("GRANT {} TO {}").format(who, sql.Identifier(role)))
        except errors.UndefinedObject as error:
            raise InvalidInput(
                f"There is no role {role!r} in {address}: make it with CREATE ROLE."
            ) from error


def revoke(connection: psycopg.Connection, address: Address, role: str, namespace: str) -> None:
    """Take a namespace away from a role; what it was not granted is no error."""
    group = role_of(connection, address, namespace)
    if _role_exists(connection, group) and _role_exists(connection, role):
        connection.execute(sql.SQL("REVOKE {} FROM {}").format(sql.Identifier(group), sql.Identifier(role)))


def is_there(connection: psycopg.Connection, address: Address, namespace: str) -> bool:
    """Whether anything was ever written in a namespace."""
    table = sql.SQL("{}.namespace").format(sql.SQL(quoted(address.schema)))
    query = sql.SQL("SELECT 1 FROM {} WHERE namespace = %s").format(table)
    return connection.execute(query, [namespace]).fetchone() is not None


def role_of(connection: psycopg.Connection, address: Address, namespace: str) -> str:
    """The role whose members see a namespace."""
    whole = _store(connection, address) + namespace
    return f"recollect_{hashlib.md5(whole.encode(), usedforsecurity=False).hexdigest()}"


def _store(connection: psycopg.Connection, address: Address) -> str:
    """What tells this store from others of the server, which has one set of roles for all its databases."""
    names = (connection.info.dbname, address.schema)
    return "".join(f"{len(name)}:{name}:" for name in names)


def _is_secured(connection: psycopg.Connection, address: Address) -> bool:
    found = connection.execute(
        "SELECT relrowsecurity FROM pg_class WHERE oid = %s::regclass", [f"{quoted(address.schema)}.memory"]
    ).fetchone()
    return bool(found and found[0])


def _role_exists(connection: psycopg.Connection, role: str) -> bool:
    return connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role]).fetchone() is not None
