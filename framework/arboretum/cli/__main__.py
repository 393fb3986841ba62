"""``python -m arboretum.cli``: the command without its script."""

import sys

from arboretum.cli.main import main

status = main()
# CPython remembers a Ctrl-C inside code that is executed as text (a dataclass is made so) and ends
# a ``python -m`` by SIGINT then, whatever its status; the next such text makes it forget.
exec("")
sys.exit(status)
