"""A tree as an ONNX graph: tests in double precision, every row at the node where the tree has it.

A column becomes the number of the cell between its thresholds in which a value lies, or of its
category; a table per test turns cells into outcomes; a tree of whole numbers leads from outcomes to
the node where the row rests, and tables hold what each node predicts.  No threshold is ever a
float of 32 bits: ``TreeEnsembleRegressor`` sees outcomes alone, which are small whole numbers.

::

    cell(x)      = number of edges < x; the cell after the last one for a missing value
    outcome_v    = table_v[cell], −1 without one; then surrogates in order; then where v sends it
    node         = TreeEnsembleRegressor(outcomes)
    label, …     = tables[node]
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from arboretum.api import (
    MISSING_SPLITS,
    MISSING_STOPS,
    CapabilityError,
    ColumnSpec,
    Facts,
    Plain,
    TestRule,
    Tree,
    policies,
    table_like,
)

UNSEEN = "\x01 a value that no row had"
MISSING_WORDS = ("", "NA", "missing value", "no value")
"""Texts of which the first that is no category stands for a missing one, as ONNX has none."""
MOST_NODES = 1 << 24  # whole numbers that a float of 32 bits tells apart
CHECKED = 512  # rows by which a graph is compared with its tree
Mapped = tuple[int, tuple[int, ...]]
"""A test, and the outcomes that its own stand for; () for themselves."""
OPSETS = {"": 15, "ai.onnx.ml": 3}
IR = 8


def tree_onnx(tree: Tree) -> bytes:
    """Return the graph.  Raises CapabilityError for what it cannot say, without the packages, and
    where a row of its check would be answered otherwise.
    """
    try:
        import onnx
        import onnxruntime
    except ImportError as error:
        raise CapabilityError(
            f"the form 'onnx' needs {error.name}; pip install 'arboretum[onnx]'"
        ) from error
    refuse(tree)
    model = _Graph(tree, onnx).model()
    written: bytes = model.SerializeToString(deterministic=True)
    _check(tree, written, onnxruntime)
    return written


def refuse(tree: Tree) -> None:
    """Raise CapabilityError for a tree that no graph of this form says."""
    if tree.n_nodes == 1:
        raise CapabilityError("this tree asks nothing, so a graph would have no input")
    if tree.n_nodes >= MOST_NODES:
        raise CapabilityError(f"this tree has more than {MOST_NODES - 1} nodes, which ONNX numbers")
    specs = {spec.name: spec for spec in tree.columns}
    for rule in tree.rules:
        what = f"the test {rule.describe()!r}"
        if rule.fuzzy:
            raise CapabilityError(f"{what} sends a row down several branches by degrees")
        if len(rule.columns) > 1:
            raise CapabilityError(f"{what} reads several columns, which this form does not say")
        spec = specs[rule.columns[0]]
        if spec.is_continuous and rule.cuts is None:
            raise CapabilityError(f"{what} names no thresholds, by which this form compares")
        for text in (spec.name, *spec.categories):
            if not spec.name or any("\ud800" <= sign <= "\udfff" or sign == "\0" for sign in text):
                raise CapabilityError(f"the text {text!r} of {what} is none that ONNX can hold")
    for node in tree.inner[policies(tree)[tree.inner] == MISSING_SPLITS].tolist():
        rule = tree.rule(node)
        if min(_Cells.of(specs[rule.columns[0]], [rule]).outcomes(rule)) < 0:
            raise CapabilityError(
                f"a row without an outcome of {rule.describe()!r} goes down every branch "
                "in shares, which a graph of one path per row does not say"
            )


@attrs.frozen
class _Cells:
    """The cells of a column.

    values : one that stands for each, as rows hold it, but for the last one or two.
    edges : between them, of numbers.
    missing : the text of a missing category.
    """

    spec: ColumnSpec
    values: tuple[Any, ...]
    edges: tuple[float, ...] = ()
    missing: str = ""

    @staticmethod
    def of(spec: ColumnSpec, rules: Sequence[TestRule]) -> _Cells:
        """Return the cells that some tests tell apart."""
        if not spec.is_continuous:
            word = next((one for one in MISSING_WORDS if one not in spec.categories), None)
            if word is None:
                raise CapabilityError(f"{spec.name!r} has every word for a missing value as value")
            return _Cells(spec, (*spec.categories, None, UNSEEN), missing=word)
        edges = tuple(sorted({cut for rule in rules for cut in rule.cuts or ()}))
        last = math.nextafter(edges[-1], math.inf) if edges else 0.0
        return _Cells(spec, (*edges, last, None), edges)

    def outcomes(self, rule: TestRule) -> list[int]:
        """Return the outcome of each cell."""
        return [rule.outcome_of({self.spec.name: value}) for value in self.values]


class _Graph:
    """The graph of a tree, node by node of ONNX."""

    def __init__(self, tree: Tree, onnx: Any) -> None:
        self.tree, self.onnx = tree, onnx
        self.nodes: list[Any] = []
        self.tables: list[Any] = []
        self.inputs: list[Any] = []
        self.about: Facts = {}
        self.feature: dict[int, int] = {}
        names = {spec.name for spec in tree.columns}
        self.names = names
        self.prefix = "tree_"  # of what is ours, and begins no column's name
        while any(name.startswith(self.prefix) for name in names):
            self.prefix = f"_{self.prefix}"
        self.count = 0

    def add(self, kind: str, inputs: Sequence[str], output: str = "", **fields: Any) -> str:
        """Add an operator and return the name of what it gives."""
        self.count += 1
        output = output or f"{self.prefix}{self.count}"
        self.nodes.append(self.onnx.helper.make_node(kind, list(inputs), [output], **fields))
        return output

    def table(self, values: Any) -> str:
        """Add a constant and return its name."""
        self.count += 1
        name = f"{self.prefix}{self.count}"
        self.tables.append(self.onnx.numpy_helper.from_array(np.asarray(values), name))
        return name

    def model(self) -> Any:
        """Return the whole model."""
        raw, place = self.outcomes()
        node = self.walk(self.resolved(raw, place))
        outputs = self.answers(node)
        helper = self.onnx.helper
        graph = helper.make_graph(self.nodes, "tree", self.inputs, outputs, self.tables)
        made = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid(name, at) for name, at in OPSETS.items()],
            producer_name="arboretum",
            ir_version=IR,
        )
        helper.set_model_props(made, {"columns": json.dumps(self.about, ensure_ascii=False)})
        return made

    def outcomes(self) -> tuple[str, dict[Mapped, int]]:
        """Return int64[rows, k], raw outcomes, and the column of each (test, outcome → outcome).

        A surrogate's outcomes are mapped to those that it stands for.
        """
        tree = self.tree
        own_tests: list[Mapped] = [(int(test), ()) for test in tree.test[tree.inner]]
        wanted = dict.fromkeys([*own_tests, *((one.rule, one.to) for one in tree.surrogates)])
        parts: list[str] = []
        place: dict[Mapped, int] = {}
        for spec in tree.columns:
            own = [key for key in wanted if tree.rules[key[0]].columns == (spec.name,)]
            if not own:
                continue
            cells = _Cells.of(spec, [tree.rules[test] for test, _ in own])
            columns = []
            for test, to in own:
                place[test, to] = len(place)
                found = cells.outcomes(tree.rules[test])
                columns.append([to[k] if k >= 0 else -1 for k in found] if to else found)
            table = self.table(np.array(columns, np.int64).T)
            parts.append(self.add("Gather", [table, self.cell(cells)], axis=0))
        return parts[0] if len(parts) == 1 else self.add("Concat", parts, axis=1), place

    def cell(self, cells: _Cells) -> str:
        """Return int64[rows]: the cell of each row in a column, which is an input of the graph."""
        spec, onnx = cells.spec, self.onnx
        number = onnx.TensorProto.DOUBLE if spec.is_continuous else onnx.TensorProto.STRING
        self.inputs.append(onnx.helper.make_tensor_value_info(spec.name, number, ["rows", 1]))
        flat = self.add("Reshape", [spec.name, self.table(np.array([-1], np.int64))])
        if not spec.is_continuous:
            known = list(spec.categories)
            self.about[spec.name] = {"categories": known, "missing": cells.missing}
            return self.add(
                "LabelEncoder",
                [flat],
                domain="ai.onnx.ml",
                keys_strings=[*known, cells.missing],
                values_int64s=list(range(len(known) + 1)),
                default_int64=len(known) + 1,
            )
        self.about[spec.name] = {"unit": spec.unit} if spec.unit else {}
        wide = self.add("Reshape", [spec.name, self.table(np.array([-1, 1], np.int64))])
        # without an edge one that no number exceeds
        edges = self.table(np.array([cells.edges or (math.inf,)], np.float64))
        above = self.add("Cast", [self.add("Greater", [wide, edges])], to=onnx.TensorProto.INT64)
        axes = self.table(np.array([1], np.int64))
        count = self.add("ReduceSum", [above, axes], keepdims=0)
        missing = self.table(np.array(len(cells.edges) + 1, np.int64))
        return self.add("Where", [self.add("IsNaN", [flat]), missing, count])

    def resolved(self, raw: str, place: Mapping[Mapped, int]) -> str:
        """Return float32[rows, k]: the outcome at nodes that ask alike (``self.feature``), by their
        own test, else their surrogates, else where they send a row; −1 where the row stops.
        """
        tree = self.tree
        chains = {node: [place[int(tree.test[node]), ()]] for node in tree.inner.tolist()}
        for one in tree.surrogates:
            chains[one.node].append(place[one.rule, one.to])
        sent = np.maximum(policies(tree), MISSING_STOPS)
        asked = {node: (*chain, int(sent[node])) for node, chain in chains.items()}
        alike = {key: k for k, key in enumerate(dict.fromkeys(asked.values()))}
        self.feature = {node: alike[key] for node, key in asked.items()}
        zero = self.table(np.array(0, np.int64))

        def taken(depth: int) -> str:
            # where there are fewer surrogates the last test is asked again
            at = [key[min(depth, len(key) - 2)] for key in alike]
            return self.add("Gather", [raw, self.table(np.array(at, np.int64))], axis=1)

        found = taken(0)
        for depth in range(1, max(map(len, alike)) - 1):
            lost = self.add("Less", [found, zero])
            found = self.add("Where", [lost, taken(depth), found])
        lost = self.add("Less", [found, zero])
        sends = self.table(np.array([[key[-1] for key in alike]], np.int64))
        found = self.add("Where", [lost, sends, found])
        return self.add("Cast", [found], to=self.onnx.TensorProto.FLOAT)

    def walk(self, outcomes: str) -> str:
        """Return int64[rows]: the node where each row rests.

        Outcomes of a node are told apart by halves, "≤ k + 0.5", so that each child is met once.
        """
        tree, feature = self.tree, self.feature
        rows: list[tuple[int, float, int, int, int]] = []  # feature, cut, yes, no, node or -1

        def placed() -> int:
            rows.append((0, 0.0, 0, 0, -1))
            return len(rows) - 1

        # (row, node, the ends that its outcomes from ``low`` on have)
        stack = [(placed(), 0, 0, -2)]
        while stack:
            row, node, low, high = stack.pop()
            if high == -2 and tree.is_leaf[node]:
                rows[row] = 0, 0.0, 0, 0, node
                continue
            ends = [-1, *tree.children(node).tolist()]
            if high == -2:
                low, high = 0, len(ends)
            if high - low == 1:
                if (child := ends[low]) < 0:
                    rows[row] = 0, 0.0, 0, 0, node
                else:
                    stack.append((row, child, 0, -2))
                continue
            middle = (low + high) // 2
            yes, no = placed(), placed()
            rows[row] = feature[node], middle - 1.5, yes, no, -1
            stack += [(no, node, middle, high), (yes, node, low, middle)]
        leaves = [k for k, one in enumerate(rows) if one[4] >= 0]
        found = self.add(
            "TreeEnsembleRegressor",
            [outcomes],
            domain="ai.onnx.ml",
            n_targets=1,
            nodes_treeids=[0] * len(rows),
            nodes_nodeids=list(range(len(rows))),
            nodes_modes=["LEAF" if one[4] >= 0 else "BRANCH_LEQ" for one in rows],
            nodes_featureids=[one[0] for one in rows],
            nodes_values=[float(one[1]) for one in rows],
            nodes_truenodeids=[one[2] for one in rows],
            nodes_falsenodeids=[one[3] for one in rows],
            target_treeids=[0] * len(leaves),
            target_nodeids=leaves,
            target_ids=[0] * len(leaves),
            target_weights=[float(rows[k][4]) for k in leaves],
        )
        flat = self.add("Reshape", [found, self.table(np.array([-1], np.int64))])
        return self.add("Cast", [flat], to=self.onnx.TensorProto.INT64)

    def answers(self, node: str) -> list[Any]:
        """Return the outputs: label and probabilities, or value; and the node."""
        tree, kinds, info = (
            self.tree,
            self.onnx.TensorProto,
            self.onnx.helper.make_tensor_value_info,
        )
        outputs = []

        def give(name: str, kind: int, shape: list[Any], table: Any = None) -> None:
            name = f"{self.prefix}{name}" if name in self.names else name
            if table is None:
                self.add("Identity", [node], name)
            else:
                self.add("Gather", [self.table(table), node], name, axis=0)
            outputs.append(info(name, kind, shape))

        if tree.classes:
            labels = np.array([tree.classes[k] for k in tree.label], object)
            give("label", kinds.STRING, ["rows"], labels)
            shares = tree.distribution()
            give("probabilities", kinds.DOUBLE, ["rows", len(tree.classes)], shares)
        else:
            give("value", kinds.DOUBLE, ["rows"], tree.value)
        give("node", kinds.INT64, ["rows"])
        return outputs


def inputs_of(tree: Tree, rows: Sequence[Plain], model: Any) -> dict[str, np.ndarray]:
    """Return rows as the inputs of a session: float64[n, 1] and texts[n, 1] by column.

    rows : column → number, text or None.   model : the graph as ONNX reads it.
    """
    about = json.loads(model["columns"])
    specs = {spec.name: spec for spec in tree.columns}
    found = {}
    for name, how in about.items():
        values = [row.get(name) for row in rows]
        if specs[name].is_continuous:
            numbers = [math.nan if value is None else value for value in values]
            found[name] = np.array(numbers, np.float64)[:, None]
        else:
            texts = [how["missing"] if value is None else value for value in values]
            found[name] = np.array(texts, object)[:, None]
    return found


def _check(tree: Tree, written: bytes, onnxruntime: Any) -> None:
    """Raise CapabilityError where the graph answers a row otherwise than the tree: drawn rows of
    thresholds, their neighbours in 32 and 64 bits, categories, missing and unseen values.
    """
    session = onnxruntime.InferenceSession(written, providers=["CPUExecutionProvider"])
    rows = drawn_rows(tree, CHECKED)
    given = inputs_of(tree, rows, session.get_modelmeta().custom_metadata_map)
    names = [one.name for one in session.get_outputs()]
    node = dict(zip(names, session.run(None, given), strict=True))
    expected = tree.apply(table_like(tree, list(rows)))
    wrong = np.flatnonzero(node[names[-1]] != expected)
    if len(wrong):
        raise CapabilityError(
            f"onnxruntime {onnxruntime.__version__} leads the row {rows[wrong[0]]} to node "
            f"{int(node[names[-1]][wrong[0]])}, the tree to {int(expected[wrong[0]])}"
        )


def drawn_rows(tree: Tree, n: int, seed: int = 0) -> list[Facts]:
    """Return rows at the borders of the tree's tests: thresholds, their neighbours among the
    floats of 32 and of 64 bits, every category, missing and unseen values.
    """
    random = np.random.default_rng(seed)
    candidates: dict[str, list[Any]] = {}
    for spec in tree.columns:
        cuts = sorted(
            {cut for rule in tree.rules if rule.columns == (spec.name,) for cut in rule.cuts or ()}
        )
        if not spec.is_continuous:
            candidates[spec.name] = [*spec.categories, None, UNSEEN]
            continue
        near = [math.nextafter(cut, end) for cut in cuts for end in (-math.inf, math.inf)]
        with np.errstate(over="ignore"):
            single = np.array(cuts, np.float32)
            ends = [np.nextafter(single, np.float32(end)) for end in (-np.inf, np.inf)]
        near += [float(one) for part in (single, *ends) for one in part.tolist()]
        kept = [value for value in (*cuts, *near, 0.0) if math.isfinite(value)]
        candidates[spec.name] = [*kept, None]
    return [
        {name: some[int(random.integers(len(some)))] for name, some in candidates.items()}
        for _ in range(n)
    ]
