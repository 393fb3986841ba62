"""The text of ``arboretum run --help``: written from the registry, so it is never out of date."""

from __future__ import annotations

import textwrap

import attrs

from arboretum.cli.terminal import columns, width
from arboretum.config.settings import Limits, Settings
from arboretum.interfaces.component import KINDS, MANY
from arboretum.plugin.assemble import DEFAULT_CHOICES
from arboretum.plugin.registry import NONE, Registry

HEAD = """\
usage: arboretum run [OPTIONS] [KEY=VALUE …]

Grow one tree, or with -m one per combination of values:
  arboretum run dataset=iris method=cart seed=1
  arboretum run dataset=file dataset.path=my.csv dataset.target=y stopping.standard.max_depth=4
  arboretum run -m method=cart,id3 dataset=iris,wine seed=1,2,3

options:
  -m, --multirun      run every combination of comma-separated values
  --plugin FILE       load a one-file plugin (may be given several times)
  --from RUN          repeat a run: its configuration is the default here
  --config-dir DIR    look for choices (experiments, data sets, …) in a folder, too
  --cfg job           print the configuration instead of running it
  --help, --hydra-help

folders: hydra.run.dir=DIR for one run, hydra.sweep.dir=DIR for a sweep; hydra/launcher=NAME runs a sweep elsewhere;
hydra/sweeper=arboretum_optuna searches instead of running every combination.
exit status: 0 finished, verified and recorded; 1 failed; 3 finished and kept, but not tracked; 130 interrupted.
"""


def help_text(registry: Registry) -> str:
    """Usage, settings, and every group with its options; the default is marked with *."""
    lines = [HEAD, "settings:"]
    rows = []
    for cls, prefix in ((Settings, ""), (Limits, "budget.")):
        for field in attrs.fields(cls):
            if field.name != "budget":
                default = getattr(cls(), field.name)
                rows.append((f"  {prefix}{field.name}", f"{'null' if default is None else default}", field.metadata["doc"]))
    lines += [columns(rows), "", "groups (arboretum explain GROUP.OPTION tells the parameters of an option):"]
    for kind, question in KINDS.items():
        default = DEFAULT_CHOICES[kind]
        marked = set(default) if kind in MANY else {default}
        names = registry.names(kind) + ([NONE] if kind not in ("dataset", "method") else [])
        listed = ", ".join(f"{name}*" if name in marked else name for name in names)
        several = " (several: [a,b])" if kind in MANY else ""
        lines += [f"  {kind}: {question}{several}", textwrap.fill(listed, width() - 6, initial_indent=" " * 6, subsequent_indent=" " * 6, break_on_hyphens=False)]
    return "\n".join(lines)
