"""Schema files as a person reads them: one column a line."""

import json
from collections.abc import Mapping
from typing import Any


def as_text(stored: Mapping[str, Any]) -> str:
    """Return the text of a schema file.

    Args:
        stored: its content, as JSON.
    """
    columns = ",\n".join(
        f"  {_text(name)}: {_text(facts)}" for name, facts in stored["columns"].items()
    )
    head = "".join(f" {_text(k)}: {_text(v)},\n" for k, v in stored.items() if k != "columns")
    return f'{{\n{head} "columns": {{\n{columns}\n }}\n}}\n'


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
