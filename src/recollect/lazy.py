"""What is worked out when it is first asked for, and kept.

Before Python 3.12 the standard library's takes a lock for it, which costs more than most of what a recall
works out so. Here two threads that ask at once may both work it out: it must come to the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any


class _Lazy:
    """Stands in the class; what it came to stands in the object, which is looked at first.

    >>> class Circle:
    ...     @lazy
    ...     def area(self) -> float:
    ...         print("so")
    ...         return 3.14
    >>> circle = Circle()
    >>> circle.area + circle.area
    so
    6.28
    """

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self.__doc__ = make.__doc__
        self._make = make

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        made = instance.__dict__[self._name] = self._make(instance)
        return made


if TYPE_CHECKING:
    from functools import cached_property

    lazy = cached_property
else:
    lazy = _Lazy
