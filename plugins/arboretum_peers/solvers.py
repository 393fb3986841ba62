"""The components: what each peer minimises, what it is refused, and what its answer is worth."""

import math
import time
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import attrs

from arboretum.api import (
    CapabilityError,
    Context,
    Facts,
    LeafRule,
    Plain,
    Problem,
    Solution,
    Status,
    shape_of,
    sure,
)
from arboretum_peers.matrix import Matrix, Nodes
from arboretum_peers.process import WORKER, PeerProcess

GRACE = 1.0
"""Seconds beyond the deadline that a peer gets before it is killed: some take whole seconds
only.
"""
CLOSE = 1e-6
"""Difference up to which a claim agrees with the value of the tree: one of them counts in
float32.
"""
OBEYED = ("max_depth",)


class Desk:
    """Keeps the process that ``warm_up`` has started, until ``solve`` takes it."""

    def __init__(self) -> None:
        self._waiting: PeerProcess | None = None

    def keep(self, process: PeerProcess) -> None:
        """Keep this one; a process that nobody took is ended."""
        self.take(end=True)
        self._waiting = process

    def take(self, *, end: bool = False) -> PeerProcess | None:
        """Return the process that waits, if one does."""
        process, self._waiting = self._waiting, None
        if end and process is not None:
            process.end()
        return process


@attrs.frozen
class Peer:
    """A solver of somebody else, for errors / n + λ · leaves and for fewest errors within a depth.

    distribution : what it is installed as, and its name in the worker.
    adapter : that name, where the distribution has several solvers.
    proves : it says when no tree is better.
    charges : it knows λ.
    most_depth : its greatest depth, None where it has no limit.
    limits_depth : it can be held to a depth.
    ordinals : it takes numeric columns with all their thresholds.
    """

    kind = "solver"
    capabilities: ClassVar[tuple[str, ...]] = (
        "classification",
        "multiclass",
        "weights",
        "exact",
        "anytime",
    )
    needs = ("objective",)
    minimises = ("additive",)
    example = (
        "dataset=monk1-full method=exact objective=accuracy objective.lam=0.02 budget.seconds=60"
    )

    distribution = ""
    adapter = ""
    script = WORKER
    proves = True
    charges = True
    limits_depth = True
    most_depth: ClassVar[int | None] = None
    ordinals = False

    @cached_property
    def _desk(self) -> Desk:
        return Desk()

    def warm_up(self, problem: Problem, context: Context) -> None:
        """Start the peer's process and let it load (and one of them compile), while no clock
        runs.
        """
        self._question_for_peer(problem)
        process = self._process()
        context.progress(0, None, f"loading {self.distribution}")
        process.ready()
        self._desk.keep(process)

    def solve(self, problem: Problem, context: Context) -> Solution:
        """Return what the peer finds in a process of its own, killed GRACE after the deadline or
        beyond its memory.

        ``optimal`` where the peer says so and what it says of its tree is true; its claim that no
        tree is better is taken on trust.  Raises CapabilityError, with the reason, for what it
        cannot do.
        """
        matrix, job, reach = self._question_for_peer(problem)
        if matrix.root_errors == 0 or not len(matrix.test) or job["depth"] == 0:
            return self._solution(
                matrix,
                [(-1, 0, 0, 0)],
                Status.optimal if self.proves else Status.feasible,
                (f"a leaf is all there is; {self.distribution} was not asked",),
            )
        late = None if context.deadline is None else context.deadline + GRACE
        process = self._desk.take() or self._process()
        started = process.ready(context.deadline)
        left = None if context.deadline is None else context.deadline - time.monotonic()
        if not started or (left is not None and left <= 0):
            process.end()
            return self._solution_without_tree(matrix, "seconds")
        x, y = matrix.rows
        found = process.ask(x, y, late, **job, seconds=left, bytes=context.memory_bytes)
        if not found.get("nodes"):
            return self._solution_without_tree(matrix, found.get("spent", "seconds"))
        return self._verify_answer(matrix, found, job, reach, started)

    def _process(self) -> PeerProcess:
        """Return a process of its own for the peer, started."""
        return PeerProcess(self.script, self.adapter or self.distribution)

    def _question_for_peer(self, problem: Problem) -> tuple[Matrix, Facts, str]:
        """Return the table, what the peer is told, and "" or why its proof does not reach all trees
        that are asked about.
        """
        objective, who = problem.parts.objective, self.distribution
        if getattr(objective, "name", "") != "accuracy":
            name = getattr(objective, "name", "none")
            raise CapabilityError(
                f"{who} minimises errors / n + lam · leaves; use objective=accuracy instead "
                f"of {name} ({shape_of(objective)})"
            )
        for field in attrs.fields(type(sure(objective))):
            if (
                field.name not in ("lam", "price")
                and getattr(objective, field.name) != field.default
            ):
                raise CapabilityError(f"{who} knows no objective.{field.alias}; leave it out")
        rule = problem.parts.leaf_rule(obeyed=OBEYED)
        # one row is a leaf anyway
        if attrs.evolve(rule, min_split=0 if rule.min_split <= 2 else rule.min_split) != LeafRule():
            raise CapabilityError(f"{who} knows no leaf rule; use stopping=[pure]")
        lam, asked = float(attrs.asdict(sure(objective))["lam"]), problem.parts.limits().max_depth
        matrix = Matrix.of(problem, ordinals=self.ordinals)
        if lam > 0 and not self.charges:
            way = "say objective.lam=0 and stopping=[standard] stopping.standard.max_depth=DEPTH"
            raise CapabilityError(f"{who} charges nothing for leaves; {way}")
        needed = matrix.greatest_depth
        if lam > 0:  # k leaves more than one cost k λ, and save at most all errors of the root
            needed = min(
                needed,
                int(Fraction(matrix.root_errors, int(matrix.times.sum())) / Fraction(repr(lam))),
            )
        depth = needed if asked is None else min(asked, needed)
        if not self.limits_depth:
            if depth < needed:
                raise CapabilityError(
                    f"{who} knows no limit max_depth (it is {asked}); leave it out"
                )
            return matrix, {"lam": lam, "depth": None}, ""
        if self.most_depth is not None and depth > self.most_depth:
            reach = (
                f"{who} goes no deeper than {self.most_depth}, and trees of depth {depth} were "
                "not excluded"
            )
            return matrix, {"lam": lam, "depth": self.most_depth}, reach
        return (
            matrix,
            {
                "lam": lam,
                "depth": None
                if asked is None and self.most_depth is None and self.charges
                else depth,
            },
            "",
        )

    def _verify_answer(
        self,
        matrix: Matrix,
        found: Plain,
        job: Plain,
        reach: str,
        version: str,
    ) -> Solution:
        """Return a solution from the peer's answer: counted again, its claim compared."""
        wrong, leaves = matrix.errors(found["nodes"])
        counted = wrong / float(matrix.times.sum()) + job["lam"] * leaves
        notes, claim = [], found.get("claim")
        proven = bool(found["proven"]) and self.proves
        if claim is not None and not math.isclose(claim, counted, rel_tol=CLOSE, abs_tol=CLOSE):
            notes.append(
                f"{version} claims {claim:.6g}, but its own tree has {counted:.6g}: nothing "
                "is proven"
            )
            proven = False
        tree = matrix.tree(found["nodes"])
        limit = matrix.problem.parts.limits().max_depth
        if limit is not None and tree.depth_of.max() > limit:
            notes.append(
                f"{version} returned a tree of depth {tree.depth_of.max()}, which is not "
                "allowed; a leaf stands in for it"
            )
            return self._solution(matrix, [(-1, 0, 0, 0)], Status.feasible, tuple(notes), found)
        if proven and reach:
            notes.append(reach)
            proven = False
        said = (
            f"{version} says that no tree is better"
            if proven
            else f"{version} proved nothing within its limits"
            if self.proves
            else f"{version} is near-optimal: it proves nothing, whatever it finds"
        )
        status = Status.optimal if proven else Status.feasible
        solution = self._solution(matrix, found["nodes"], status, (said, *notes), found)
        # leaves with another class, or without tests that divide nothing
        if proven and solution.value < counted - CLOSE:
            better = (
                f"its tree has {solution.value:.6g} with better leaves, less than the "
                f"{counted:.6g} that it calls optimal"
            )
            return attrs.evolve(
                solution,
                status=Status.feasible,
                lower_bound=0.0,
                finished=False,
                notes=(*solution.notes, better),
            )
        return solution

    def _solution_without_tree(self, matrix: Matrix, budget: str) -> Solution:
        """Return a single leaf as solution, nothing proven, and a note that the budget was too
        small.
        """
        note = (
            f"{self.distribution} gave no tree within the budget of {budget}; a single leaf "
            "stands in for it"
        )
        return self._solution(matrix, [(-1, 0, 0, 0)], Status.feasible, (note,))

    def _solution(
        self,
        matrix: Matrix,
        nodes: Nodes,
        status: Status,
        notes: tuple[str, ...],
        found: Mapping[str, object] = {},
    ) -> Solution:
        """Return the solution with the tree of a peer's nodes; its bound is 0 where it is not
        optimal.

        found : the peer's answer, of which seconds and memory are kept.
        """
        tree = matrix.tree(nodes)
        value = float(sure(matrix.problem.parts.objective).value(tree, matrix.problem))
        optimal = status is Status.optimal
        details = {f"peer_{name}": found[name] for name in ("seconds", "memory") if name in found}
        return Solution(
            tree, value, value if optimal else 0.0, status, 0, optimal, notes=notes, details=details
        )


@attrs.frozen
class Gosdt(Peer):
    """GOSDT with guesses (gosdt ≥ 1.0.4): errors / n + λ · leaves, any depth."""

    name = "peer_gosdt"
    paper = "Lin, Zhong, Hu, Rudin & Seltzer 2020; McTavish et al. 2022"
    distribution = "gosdt"


@attrs.frozen
class Pystreed(Peer):
    """STreeD (pystreed): errors / n + λ · leaves within a depth of at most 20, or fewest errors
    within it.
    """

    name = "peer_pystreed"
    paper = "van der Linden, de Weerdt & Demirović 2023"
    distribution = "pystreed"
    most_depth = 20


@attrs.frozen
class Pycontree(Peer):
    """ConTree (pycontree): errors / n + λ · leaves within a depth of at most 20, over all
    thresholds of numeric columns.
    """

    name = "peer_pycontree"
    paper = "Brița, van der Linden & Demirović 2025"
    distribution = "pycontree"
    most_depth = 20
    ordinals = True


@attrs.frozen
class DL85(Peer):
    """DL8.5 (pydl8.5): fewest errors within a depth."""

    name = "peer_dl85"
    paper = "Aglin, Nijssen & Schaus 2020"
    example = (
        "dataset=monk1-full method=exact objective=accuracy objective.lam=0 "
        "stopping.standard.max_depth=3"
    )
    distribution = "pydl8.5"
    charges = False


@attrs.frozen
class FastSmallTree(Peer):
    """FastSmallTreeClassifier (imodels ≥ 3.0.4): errors / n + λ · leaves, any depth."""

    name = "peer_fst"
    paper = ""
    distribution = "imodels"
    limits_depth = False


@attrs.frozen
class Pytrees(Peer):
    """DL8.5 in Rust (pytrees-rs ≥ 2.0): fewest errors within a depth."""

    name = "peer_pytrees"
    paper = "Kiossou, Schaus, Nijssen & Houndji 2022, after Aglin, Nijssen & Schaus 2020"
    example = DL85.example
    distribution = "pytrees-rs"
    adapter = "pytrees-rs/dl85"
    charges = False


@attrs.frozen
class PytreesContree(Peer):
    """ConTree in Rust (pytrees-rs ≥ 2.0): fewest errors within a depth, over all thresholds of
    numeric columns.
    """

    name = "peer_pytrees_contree"
    paper = "Kiossou, Schaus & Nijssen 2026, after Brița, van der Linden & Demirović 2025"
    example = DL85.example.replace("monk1-full", "iris")
    distribution = "pytrees-rs"
    adapter = "pytrees-rs/contree"
    charges = False
    ordinals = True


@attrs.frozen
class LicketySplit(Peer):
    """LicketySPLIT (licketysplit ≥ 0.2.1): errors / n + λ · leaves, any depth, near-optimal: never
    ``optimal``, no bound.
    """

    name = "peer_licketysplit"
    paper = "Babbar, McTavish, Rudin & Seltzer 2025"
    capabilities = ("classification", "multiclass", "weights")
    distribution = "licketysplit"
    proves = False


@attrs.frozen
class Odtlearn(Peer):
    """FlowOCT with CBC (odtlearn[cbc] ≥ 1.1): errors / n + λ · leaves within a depth; it is asked
    for 5 at most, for the program doubles with each.
    """

    name = "peer_odtlearn"
    paper = "Aghaei, Gómez & Vayanos 2025"
    distribution = "odtlearn"
    most_depth = 5


PEERS = (
    Gosdt,
    Pystreed,
    Pycontree,
    DL85,
    FastSmallTree,
    Pytrees,
    PytreesContree,
    LicketySplit,
    Odtlearn,
)
