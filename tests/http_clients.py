"""A client of the HTTP door in this process; every answer is checked against the door's own description."""

from __future__ import annotations

import json
import re
from typing import Any

from jsonschema import Draft202012Validator
from starlette.testclient import TestClient

from recollect import Memories
from recollect.doors.http import openapi
from recollect.doors.http.app import Limits, application
from recollect.doors.http.guarding import Guard
from recollect.doors.http.tokens import Token, made

DESCRIPTION = openapi.document()
OWNER = made("owner")


class Api:
    """Asks as the holder of a token."""

    def __init__(
        self, memories: Memories, *tokens: Token, limits: Limits | None = None, **guarded: Any
    ) -> None:
        self.tokens = tokens or (OWNER,)
        self.app = application(memories, Guard(lambda: self.tokens, **guarded), limits)
        self.client = TestClient(self.app, base_url="http://localhost:7077", raise_server_exceptions=False)
        self.headers = {"Authorization": f"Bearer {self.tokens[0].text}"}
        self.asked: set[str] = set()

    def ask(self, method: str, path: str, status: int = 200, **sent: Any) -> Any:
        """The JSON of an answer, which must have this status and be as it was described."""
        response = self.response(method, path, **sent)
        assert response.status_code == status, response.text
        return response.json()

    def response(self, method: str, path: str, **sent: Any) -> Any:
        headers = {**self.headers, **sent.pop("headers", {})}
        response = self.client.request(method, path, headers=headers, **sent)
        self._check(method, path.partition("?")[0], response)
        return response

    def _check(self, method: str, path: str, response: Any) -> None:
        found = described(method, path)
        if found is None:
            assert response.status_code in (403, 404, 405)
            return
        if response.is_success:
            self.asked.add(found["operationId"])
        answers = found["responses"]
        assert str(response.status_code) in answers, (
            f"{response.status_code} is not described: {response.text}"
        )
        kind = response.headers["content-type"].partition(";")[0]
        assert kind in answers[str(response.status_code)]["content"]
        if not kind.endswith("json"):
            return
        schema = answers[str(response.status_code)]["content"][kind]["schema"]
        validator = Draft202012Validator({**schema, "components": DESCRIPTION["components"]})
        for each in response.text.splitlines() if kind.endswith("ndjson") else (response.text,):
            validator.validate(json.loads(each))


def described(method: str, path: str) -> dict[str, Any] | None:
    """What the description says of a request."""
    exact = sorted(DESCRIPTION["paths"], key=lambda template: "{" in template)
    for template in exact:
        if (
            re.fullmatch(re.sub(r"{\w+}", "[^/]+", template), path)
            and method.lower() in DESCRIPTION["paths"][template]
        ):
            found: dict[str, Any] = DESCRIPTION["paths"][template][method.lower()]
            return found
    return None
