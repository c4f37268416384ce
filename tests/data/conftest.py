"""What the tests of the data area share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def shared_data() -> Path:
    """The data sets that lie beside the repository; a test that needs them is skipped without them."""
    folder = Path(__file__).parents[2].parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the shared data sets are not here")
    return folder
