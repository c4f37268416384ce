"""For all tests: nothing asks the network."""

from __future__ import annotations

import os

# litellm asks for its price map over the network when it is imported, unless this is set before.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
