"""Obvious secrets, masked before a text is kept: better one too few than a text made useless."""

from __future__ import annotations

import re

_PRIVATE = "[A-Z ]*PRIVATE KEY[A-Z ]*-----"
_TOKENS = {
    "private key": rf"-----BEGIN {_PRIVATE}.*?(?:-----END {_PRIVATE}|\Z)",
    "AWS key": r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    "GitHub token": r"\b(?:gh[opsur]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})",
    "GitLab token": r"\bglpat-[A-Za-z0-9_-]{20,}",
    "Slack token": r"\b(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,}",
    "Google key": r"\bAIza[A-Za-z0-9_-]{35}",
    "API key": r"\b(?:sk|pk|rk)[-_](?:[a-z]{1,20}[-_]){0,4}(?=[A-Za-z0-9_-]{0,200}\d)[A-Za-z0-9_-]{20,}",
    "npm token": r"\bnpm_[A-Za-z0-9]{36}\b",
    "PyPI token": r"\bpypi-[A-Za-z0-9_-]{50,}",
    "Hugging Face token": r"\bhf_[A-Za-z0-9]{30,}\b",
    "web token": r"\beyJ[A-Za-z0-9_-]{10,2000}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
}
_TOKEN = re.compile("|".join(f"(?P<t{i}>{each})" for i, each in enumerate(_TOKENS.values())), re.DOTALL)
_NAMES = [*_TOKENS]
_IN_URL = re.compile(
    r"(?P<before>\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@]{0,100}:)(?P<secret>[^\s@/]{3,200})(?=@)"
)
_AUTHORISED = re.compile(
    r"""(?P<before>\b(?:Bearer|Authorization["']?\s*:\s*["']?Basic)\s+)(?P<secret>[A-Za-z0-9._~+/=-]{20,})""",
    re.IGNORECASE,
)
_ASSIGNED = re.compile(
    r"""(?P<before>(?:password|passwd|secret|token|api[_-]?key|access[_-]?key)["']?\s*[:=]\s*["']?)"""
    r"""(?!(?:process\.env|os\.environ|import\.meta|config|settings|self|this|env)\.)"""
    r"""(?P<secret>(?=[^\s"']{0,200}\d)(?=[^\s"']{0,200}[A-Za-z])[A-Za-z0-9+/_=.~!@#$%^&*-]{12,})(?![\w(\[])""",
    re.IGNORECASE,
)


def masked(text: str) -> str:
    """The text without obvious secrets; what was there is named.

    >>> masked("use ghp_0123456789abcdefghijklmnopqrstuvwxyz please")
    'use [masked: GitHub token] please'
    >>> masked("psql postgresql://me:hunter2@db/prod, DB_PASSWORD=correct7horse9battery")
    'psql postgresql://me:[masked: password]@db/prod, DB_PASSWORD=[masked: secret]'
    >>> masked('password = os.environ["DB_PASSWORD"] and a token of 20 characters')
    'password = os.environ["DB_PASSWORD"] and a token of 20 characters'
    """
    text = _TOKEN.sub(lambda match: f"[masked: {_NAMES[int((match.lastgroup or 't0')[1:])]}]", text)
    text = _IN_URL.sub(r"\g<before>[masked: password]", text)
    text = _AUTHORISED.sub(r"\g<before>[masked: token]", text)
    return _ASSIGNED.sub(r"\g<before>[masked: secret]", text)
