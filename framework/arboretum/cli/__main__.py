"""``python -m arboretum.cli``: the command without its script."""

import sys

from arboretum.cli.main import main

sys.exit(main())
