"""Everything Recollect raises on purpose; each message says what to do next.

::

    RecollectError
    ├── InvalidInput (ValueError)      what was given can't be used; nothing was changed
    ├── NotFound (LookupError)         a thing was named that is not there
    │   ├── NoSuchMemory
    │   ├── NoSuchSession
    │   └── NoSuchDocument
    ├── ConfigError                    recollect.toml or an environment variable is wrong
    ├── StoreError                     the store can't do it
    │   ├── NoSuchStore                there is none yet, and none was to be made
    │   ├── NotAStore                  the file is something else
    │   ├── StoreTooNew                a newer Recollect wrote it
    │   ├── StoreReadOnly
    │   ├── StoreFull
    │   ├── StoreBusy
    │   ├── StoreDamaged
    │   ├── StoreUnreachable           the database server does not answer
    │   └── StoreClosed
    └── EmbedderError                  vectors can't be had now; rows are kept all the same
        ├── EmbedderMissing            the model or its library is not installed
        └── EmbedderFailed             it is installed, and failed
            └── EmbedderUnavailable    its provider can't be used now, whatever the text
"""

from __future__ import annotations


class RecollectError(Exception):
    """The root: catch this one to catch everything that Recollect raises on purpose."""


class InvalidInput(RecollectError, ValueError):
    """What was given can't be used; nothing was changed."""


class NotFound(RecollectError, LookupError):
    """A thing was named that is not there."""


class NoSuchMemory(NotFound):
    """No memory in this namespace has this id."""


class NoSuchSession(NotFound):
    """No session in this namespace has this id."""


class NoSuchDocument(NotFound):
    """No document in this namespace has this name."""


class ConfigError(RecollectError):
    """A setting in recollect.toml or in the environment is wrong."""


class StoreError(RecollectError):
    """The store could not do it; what was acknowledged before is safe."""


class NoSuchStore(StoreError):
    """There is no store there yet, and none was to be made."""


class NotAStore(StoreError):
    """The file is not a Recollect store."""


class StoreTooNew(StoreError):
    """A newer version of Recollect wrote this store."""


class StoreReadOnly(StoreError):
    """The store can be read but not written."""


class StoreFull(StoreError):
    """There is no room left on the disk."""


class StoreBusy(StoreError):
    """Another process held the store for too long."""


class StoreDamaged(StoreError):
    """The file is damaged."""


class StoreUnreachable(StoreError):
    """The database server does not answer, or the connection was lost for too long."""


class StoreClosed(StoreError):
    """The store was closed before."""


class EmbedderError(RecollectError):
    """A text can't be turned into a vector now."""


class EmbedderMissing(EmbedderError):
    """The model, or the library that runs it, is not installed."""


class EmbedderFailed(EmbedderError):
    """The embedder is installed, but failed on this text."""


class EmbedderUnavailable(EmbedderFailed):
    """The embedder's provider can't be used now, whatever the text: it is down, or says no."""
