"""What `recollect.sectors.classify` promises: the sector a person would give to a memory."""

from __future__ import annotations

import time
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.sectors import LOOKED_AT, TIE_ORDER, classify
from recollect.types import Sector

LABELLED: dict[Sector, tuple[str, ...]] = {
    "procedural": (
        "Run `alembic upgrade head` before starting the server",
        "How to rotate the API keys: open the vault, create a new key, revoke the old one",
        "1. Clone the repository\n2. Install the dependencies\n3. Copy .env.example to .env",
        "Always run the linter before pushing to main",
        "To reset the local database, drop the volume and start docker compose again",
        "First preheat the oven to 220 degrees, then bake the bread for 40 minutes",
        "Release checklist: bump the version, tag the commit, push the tag, wait for CI",
        "When the cache is stale, delete the .next folder and restart the dev server",
        "Use git bisect to find the commit that broke the build",
        "$ kubectl rollout restart deployment/api",
        "Never edit generated files by hand; change the template and run make generate",
        "In order to renew the certificate you need to stop nginx and call certbot renew",
        "Make sure to water the orchid once a week and never leave water in the pot",
        "Um das Projekt zu bauen, führe zuerst npm install aus und dann npm run build",
        "Para desplegar, ejecuta el script deploy.sh y después reinicia el servicio",
        "Pour lancer les tests, exécutez pytest depuis la racine du projet",
        "首先安装依赖，然后运行 npm start",
    ),
    "emotional": (
        "Maria loves dark mode and hates bright themes",
        "User is frustrated with how slow the test suite is",
        "I'm so happy about the new job",
        "Tom is afraid of flying and gets anxious at airports",
        "The team was excited about the launch",
        "She really enjoys hiking on Sundays",
        "I can't stand meetings before ten in the morning",
        "He felt overwhelmed by the amount of feedback on his pull request",
        "User prefers tabs over spaces and gets annoyed by reformatting",
        "Feeling proud of how the demo turned out",
        "Anna misses her family in Portugal",
        "I am worried that the migration will lose data",
        "My favourite editor is Vim, it makes me happy",
        "Ich liebe Kaffee am Morgen und hasse frühes Aufstehen",
        "Me encanta programar en Rust, pero odio las reuniones largas",
        "Elle adore le chocolat et déteste les épinards",
        "我很喜欢这个新的编辑器，非常开心",
    ),
    "reflective": (
        "We chose PostgreSQL over MongoDB because we need transactions",
        "Lesson learned: never deploy on a Friday afternoon",
        "In hindsight we should have written the integration tests first",
        "I realised that the bottleneck was the serializer, not the database",
        "The trade-off is higher memory use for faster lookups",
        "After comparing both options we concluded that SQLite is enough",
        "Went with a monorepo instead of separate repositories to keep versions in step",
        "Decision: keep the REST API and postpone GraphQL",
        "The root cause turned out to be a race condition in the scheduler",
        "Looking back, taking the smaller flat was the right choice",
        "Because the vendor cannot guarantee uptime, we therefore keep our own fallback",
        "Key insight: users abandon the form at the address step",
        "It would have been better to ask for help earlier",
        "The team agreed to drop support for Python 3.8",
        "Wir haben uns für Kotlin entschieden, weil das Team es schon kennt",
        "Decidimos usar Redis en lugar de Memcached",
        "Nous avons décidé de garder le monolithe pour l'instant",
        "我们决定使用 Vue 而不是 React",
    ),
    "episodic": (
        "Yesterday we met with the design team to review the mockups",
        "Deployed version 2.3 to production on Tuesday",
        "Fixed the bug in the login form this morning",
        "Today we paired on the payment integration",
        "On March 3rd the staging server went down for two hours",
        "Last week Sarah moved to Berlin",
        "I had lunch with Priya at the Thai place near the office",
        "The customer called at 14:30 and reported missing invoices",
        "We visited Kyoto in April 2019",
        "2024-05-17: merged the authentication branch and closed issue 212",
        "Two days ago the CI runner ran out of disk space",
        "Met Jonas at the conference in Lisbon",
        "Finished the refactoring of the parser last night",
        "Just now the user opened the settings page and uploaded a photo",
        "Gestern haben wir mit dem Kunden telefoniert",
        "Ayer tuvimos una reunión con el equipo de ventas",
        "Hier, nous avons livré la version 1.2 au client",
        "昨天我们和客户开了会",
    ),
    "semantic": (
        "PostgreSQL listens on port 5432 by default",
        "The user's name is Daniel and he lives in Oslo",
        "The frontend is written in TypeScript with React 18",
        "Authentication tokens expire after 15 minutes",
        "Paris is the capital of France",
        "The config file is located at ~/.config/app/settings.toml",
        "UserService depends on UserRepository and EmailClient",
        "Anna's birthday is on the 4th of July",
        "The project uses pnpm workspaces",
        "HTTP 429 means too many requests",
        "Our company has 42 employees in three offices",
        "The orders table has a foreign key to customers",
        "class Parser: holds the token stream and the current position",
        "Lina is allergic to peanuts",
        "The maximum upload size is 25 MB",
        "Die Datenbank läuft auf Port 5432",
        "La oficina principal está en Madrid",
        "Le serveur de production se trouve à Francfort",
        "北京是中国的首都",
    ),
}
EXAMPLES = [(text, sector) for sector, texts in LABELLED.items() for text in texts]


@pytest.mark.parametrize(
    ("text", "sector"),
    [
        ("Decided to use React with TypeScript for the frontend", "reflective"),
        ("To deploy, run npm build then upload to S3", "procedural"),
        ("The API routes are defined in src/routes/api.ts", "semantic"),
    ],
)
def test_the_examples_of_the_documentation_hold(text: str, sector: Sector) -> None:
    assert classify(text) == sector


def test_most_examples_get_the_sector_a_person_gave_them() -> None:
    wrong = [(text, sector, classify(text)) for text, sector in EXAMPLES if classify(text) != sector]
    assert len(EXAMPLES) >= 60
    assert len(wrong) <= 0.15 * len(EXAMPLES), wrong


@pytest.mark.parametrize("sector", LABELLED)
def test_no_sector_is_neglected(sector: Sector) -> None:
    guesses = [classify(text) for text, label in EXAMPLES if label == sector]
    assert guesses.count(sector) >= 0.8 * len(guesses)


@pytest.mark.parametrize("text", ["", " \n", "42", "lorem ipsum", "\ud800", "\0"])
def test_a_text_without_cues_is_semantic(text: str) -> None:
    assert classify(text) == "semantic"


def test_equal_scores_are_decided_by_the_documented_order() -> None:
    assert TIE_ORDER == ("reflective", "emotional", "procedural", "episodic", "semantic")
    assert classify("in hindsight; yesterday") == "reflective"
    assert classify("worried; how to") == "emotional"
    assert classify("how to; yesterday") == "procedural"


def test_case_and_curly_apostrophes_do_not_matter() -> None:
    assert classify("I CAN’T STAND IT") == classify("i can't stand it") == "emotional"


def test_only_the_beginning_counts() -> None:
    assert classify("x" * LOOKED_AT + " yesterday, in hindsight") == "semantic"


@given(st.text())
def test_any_text_has_one_sector_and_always_the_same(text: str) -> None:
    assert classify(text) in get_args(Sector)
    assert classify(text) == classify(text)


@pytest.mark.parametrize(
    "unit", ["because ", "1. a\n", "\n", " ", "to a", "first ", "um ", "a", "- ", "find ", "if,"]
)
def test_no_text_takes_long(unit: str) -> None:
    started = time.process_time()
    classify(unit * 1_000_000)
    assert time.process_time() - started < 1
