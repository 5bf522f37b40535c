"""Does a backend keep its promises? The contract of a Store, as tests for whoever writes one.

Give it an empty store, and pytest does the rest::

    class TestMyStore(StoreContract):
        @pytest.fixture
        def store(self) -> Iterator[Store]:
            store = MyStore()
            yield store
            store.close()

With `pytest.register_assert_rewrite("recollect.testing")` before the import, failures are explained.
"""

from __future__ import annotations

from recollect.testing.changing import ChangingContract
from recollect.testing.forgetting import ForgettingContract
from recollect.testing.moving import MovingContract
from recollect.testing.reading import ReadingContract
from recollect.testing.searching import SearchingContract
from recollect.testing.separating import SeparatingContract
from recollect.testing.vectors import VectorsContract
from recollect.testing.writing import WritingContract

__all__ = ["StoreContract"]


class StoreContract(
    WritingContract,
    SearchingContract,
    ReadingContract,
    ChangingContract,
    ForgettingContract,
    VectorsContract,
    MovingContract,
    SeparatingContract,
):
    """Every promise of the Store Protocol; a subclass gives the fixture `store`, which must be empty."""
