"""The command and its toy data set, as the framework's own tests of it have them."""

from tests.cli.conftest import call, command, here, toy
