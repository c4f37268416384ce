"""Prints the JSON Schema of every model of the REST interface and the socket: ``python -m aide_jupyter.server.schema``.

The page's TypeScript types are generated from it. What the server sends is described as it is sent, with all fields;
what a page sends as it is read, where fields with a default may be left out.
"""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from .models import PAGE_MESSAGES, REPLIES, REQUESTS, SERVER_MESSAGES

UNIONS = {
    "ControlRequest": ("Simple", "Hint", "SwitchMode", "Branch", "Propose"),
    "PageMessage": tuple(model.__name__ for model in PAGE_MESSAGES),
    "ServerMessage": tuple(model.__name__ for model in SERVER_MESSAGES),
}
"""Which of several models a body or a message is; told apart by ``verb`` or ``type``."""


def schema() -> dict[str, Any]:
    """One JSON Schema whose ``$defs`` hold every model, in the order of their names."""
    asked: list[tuple[type[BaseModel], Literal["validation", "serialization"]]] = [
        *((model, "validation") for model in (*REQUESTS, *PAGE_MESSAGES)),
        *((model, "serialization") for model in (*REPLIES, *SERVER_MESSAGES)),
    ]
    _, found = models_json_schema(asked, title="aide-jupyter")
    models = found["$defs"]
    for name, members in UNIONS.items():
        models[name] = {"oneOf": [{"$ref": f"#/$defs/{member}"} for member in members]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": found["title"],
        "$defs": dict(sorted(models.items())),
    }


if __name__ == "__main__":
    print(json.dumps(schema(), indent=1, ensure_ascii=False))
