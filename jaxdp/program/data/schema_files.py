"""Schema files as a person reads them: one column a line, and one rule."""

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
    rules = ",\n".join(f"  {_text(rule)}" for rule in stored.get("rules", []))
    apart = ("columns", "rules")
    head = "".join(f" {_text(k)}: {_text(v)},\n" for k, v in stored.items() if k not in apart)
    tail = f',\n "rules": [\n{rules}\n ]' if rules else ""
    return f'{{\n{head} "columns": {{\n{columns}\n }}{tail}\n}}\n'


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
