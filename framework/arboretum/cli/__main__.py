"""``python -m arboretum.cli``: the command without its script."""

from __future__ import annotations

import sys

from arboretum.cli.main import main

sys.exit(main())
