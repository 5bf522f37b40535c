"""A project history that ships with the package, and questions that show what a memory does with it.

`run` fills a store of its own, asks, and prints; `python -m recollect.demo` and `recollect demo` call it.
"""

from __future__ import annotations

from recollect.demo.history import Filled, fill
from recollect.demo.questions import QUESTIONS, Ask, Question
from recollect.demo.showing import run

__all__ = ["QUESTIONS", "Ask", "Filled", "Question", "fill", "run"]
