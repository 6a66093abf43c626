"""Lets the scripts that are run as `python tests/NAME.py` import `experiments`.

An installed package holds `jaxdp` alone.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
