"""The other verbs, on runs made here."""

from __future__ import annotations

import csv
import gzip
import io
import json
import pickle
import subprocess
import sys

import pytest

from arboretum import __version__, load
from arboretum.cli.main import VERBS
from arboretum.cli.new import FURTHER
from arboretum.errors import TrackerError
from arboretum.report.table import spell_cell
from arboretum.runs.folder import read_run

TEMPLATES = [(kind, name) for kind, names in FURTHER.items() for name in names]


@pytest.fixture
def run(toy, here):
    """Folder of a finished run."""
    assert (
        toy("seed=7", "split=none", "stopping.standard.max_depth=2", "hydra.run.dir=r").status == 0
    )
    return here / "r"


# -- the command itself ----------------------------------------------------------------------------


def test_every_verb_is_there_and_has_a_help(call):
    assert all(f"  {name} " in call().out for name in VERBS)
    for name in VERBS:
        with pytest.raises(SystemExit) if name != "run" else _Nothing():
            call(name, "--help")


class _Nothing:
    def __enter__(self):
        return None

    def __exit__(self, *error):
        return False


def test_the_version_and_an_unknown_verb(call):
    assert call("--version").out == f"arboretum {__version__}\n"
    result = call("rnu")
    assert result.status == 1
    assert result.error.startswith(
        "unknown verb 'rnu'; did you mean 'run'? known: run, reproduce, plugins"
    )


def test_an_unknown_option_of_a_verb_is_one_line_with_the_closest(call):
    assert "did you mean '--numbers'?" in call("show", "x", "--number").error


def test_the_help_of_run_lists_every_setting_and_every_group_with_its_default(call):
    text = call("run", "--help").out
    for words in (
        "budget.seconds",
        "skip_finished",
        "valid_error",
        "criterion: how good is this test here?",
        "holdout*",
    ):
        assert words in text


# -- run and its record ----------------------------------------------------------------------------


def test_a_run_leaves_four_files_and_prints_its_numbers_its_tree_and_its_folder(toy, here):
    result = toy("seed=1", "hydra.run.dir=r")
    assert result.status == 0
    assert "arboretum:" not in result.err, (
        "no error, no warning; a first run may say that it compiles"
    )
    assert sorted(path.name for path in (here / "r").iterdir()) == [
        "record.json",
        "tree.json",
        "tree.svg",
        "tree.txt",
    ]
    assert "cart on toy" in result.out and "verified" in result.out and "≤" in result.out
    assert "kept in r" in result.out.replace(f"{here}/", "")
    record = json.loads((here / "r" / "record.json").read_text())
    assert record["config"]["choices"]["method"] == "cart"
    assert record["config"]["plugins"] == [str(here / "toy.py")]
    assert record["seed"] == 1 and record["verified"] is True


def test_the_same_command_twice_gives_the_same_record_but_for_times_and_folders(toy, here):
    for name in "ab":
        toy("seed=1", f"hydra.run.dir={name}")
    one, two = (json.loads((here / name / "record.json").read_text()) for name in "ab")
    for record in (one, two):
        del record["timings"]
    assert one == two
    assert (here / "a" / "tree.json").read_text() == (here / "b" / "tree.json").read_text()


def test_a_run_is_repeated_from_its_record_and_overrides_change_it(call, run, here):
    assert call("run", "--plugin", "toy.py", "--from", "r", "hydra.run.dir=again").status == 0
    old, new = read_run(run), read_run(here / "again")
    assert new.fingerprint == old.fingerprint
    assert new.tree.to_json() == old.tree.to_json()
    assert (
        call("run", "--plugin", "toy.py", "--from", "r", "seed=8", "hydra.run.dir=changed").status
        == 0
    )
    changed = read_run(here / "changed")
    assert changed.seed == 8 and changed.config["stopping"] == old.config["stopping"]
    assert (
        call(
            "run", "--plugin", "toy.py", "--from", "r", "method=random", "hydra.run.dir=other"
        ).status
        == 0
    )
    other = read_run(here / "other").config
    assert (
        other["criterion"]["name"] == "random"
        and other["dataset"] == old.config["dataset"]
        and "split" not in other
    )


def test_a_moved_plugin_is_named_with_the_way_out_and_the_way_out_works(call, run, here):
    (here / "moved").mkdir()
    (here / "toy.py").rename(here / "moved" / "toy.py")
    error = call("run", "--from", "r").error
    assert (
        f"the run used the plugin file {str(here / 'toy.py')!r}, which is not there any more"
        in error
    )
    assert "--plugin FOLDER/toy.py" in error
    assert call("run", "--from", "r", "--plugin", "moved/toy.py", "hydra.run.dir=again").status == 0
    assert read_run(here / "again").tree.to_json() == read_run(run).tree.to_json()
    (here / "moved" / "toy.py").rename(here / "renamed.py")
    assert call("run", "--from", "r", "--plugin", "renamed.py", "hydra.run.dir=third").status == 0


def test_a_run_whose_plugin_was_moved_is_explained_shown_and_used_with_the_plugin_named(
    call, run, here
):
    before = call("why", "r", "0", "--plugin", "toy.py").out
    (here / "toy.py").rename(here / "renamed.py")
    error = call("why", "r", "0").error
    assert (
        f"the run used the plugin file {str(here / 'toy.py')!r}" in error
        and "--plugin FOLDER/toy.py" in error
    )
    assert call("why", "r", "0", "--plugin", "renamed.py").out == before
    assert call("why", "--plugin", "renamed.py", "r", "0", "--top", "3").out.startswith(
        "node 0: all rows"
    )
    (here / "rows.csv").write_text("a,b\n1,1\n")
    for verb in (("show", "r"), ("predict", "r", "rows.csv")):
        assert call(*verb, "--plugin", "renamed.py").out == call(*verb).out != ""
        assert "'gone.py' does not exist" in call(*verb, "--plugin", "gone.py").error.replace(
            f"{here}/", ""
        )


def test_a_plugin_that_is_named_twice_is_one(call, here):
    assert (
        call(
            "run",
            "--plugin",
            "toy.py",
            "--plugin",
            str(here / "toy.py"),
            "dataset=toy",
            "tracker=none",
        ).status
        == 0
    )


def test_words_may_stand_before_or_after_the_options_of_a_verb(call, run):
    orders = ("r tracker=none --numbers", "--numbers r tracker=none", "r --numbers tracker=none")
    texts = {call("show", *words.split()).out for words in orders}
    assert len(texts) == 1 and "all rows" in texts.pop()


def test_another_method_forgets_a_theta_that_its_components_do_not_follow(toy, call, here):
    assert toy("stopping=[mass]", "theta=0.2", "hydra.run.dir=t").status == 0
    assert (
        call("run", "--plugin", "toy.py", "--from", "t", "seed=3", "hydra.run.dir=t2").status == 0
    )
    assert read_run(here / "t2").config["theta"] == 0.2
    assert (
        call("run", "--plugin", "toy.py", "--from", "t", "method=random", "hydra.run.dir=t3").status
        == 0
    )
    assert read_run(here / "t3").config["theta"] is None


def test_a_tracker_that_fails_leaves_the_run_and_status_3_and_sync_sends_it_later(call, here):
    arguments = (
        "run",
        "--plugin",
        "toy.py",
        "--plugin",
        "lines.py",
        "dataset=toy",
        "seed=7",
        "hydra.run.dir=r",
    )
    result = call(*arguments, "tracker=lines", "tracker.fails=store")
    assert result.status == 3
    assert (
        "kept, but not tracked: tracker 'lines': store raised RuntimeError: no store today "
        "(lines.py:" in result.err
    )
    assert read_run(here / "r").verified


# -- reading runs ----------------------------------------------------------------------------------


def test_show_draws_the_tree_and_numbers_its_nodes(call, run):
    assert "cart on toy" in call("show", "r").out
    listed = call("show", "r", "--numbers").out
    tree = read_run(run).tree
    assert [
        int(line.split()[0]) for line in listed.splitlines() if line[:5].strip().isdigit()
    ] == list(range(tree.n_nodes))
    assert "stopping.standard.max_depth" in call("show", "r", "--config").out


def test_show_takes_one_run(call, run):
    assert "'other' is a word too many (one RUN at a time, 'r')" in call("show", "r", "other").error
    missing = call("predict", "r").error
    assert "the following arguments are required: FILE (usage" in missing


def test_what_is_no_run_is_said_to_be_none(call, here):
    (here / "empty").mkdir()
    (here / "torn").mkdir()
    (here / "torn" / "record.json").write_text('{"schema": "arboretum.rec')
    assert "holds no record.json, so it is no run folder" in call("show", "empty").error
    assert "torn: not a record" in call("show", "torn").error
    assert "there is no run folder './nope'" in call("show", "./nope").error


def test_why_lists_every_candidate_with_table_score_and_terms_and_marks_the_chosen(call, run):
    text = call("why", "r", "0", "--top", "0", "--plugin", "toy.py").out
    tree = read_run(run).tree
    marked = [line for line in text.splitlines() if line.startswith("▸")]
    assert len(marked) == 1 and tree.rule(0).describe() in marked[0]
    for term in ("impurity", "after", "decrease", "score", "price", "by outcome"):
        assert term in text
    left, right = (tree.weights[child] for child in tree.children(0))
    assert f"[{left[0]:.0f} {left[1]:.0f}] [{right[0]:.0f} {right[1]:.0f}]" in marked[0]
    leaf = int(tree.is_leaf.nonzero()[0][0])
    assert "a leaf: " in call("why", "r", str(leaf), "--plugin", "toy.py").out
    assert (
        f"node must be 0 … {tree.n_nodes - 1}" in call("why", "r", "99", "--plugin", "toy.py").error
    )
    assert "NODE must be a whole number; got 'root'" in call("why", "r", "root").error
    assert "must be a whole number ≥ 0; got -3" in call("why", "r", "0", "--top", "-3").error


def test_a_run_whose_file_has_moved_is_explained_where_its_file_is_now(call, here):
    rows = "a,b,y\n1,2,x\n2,3,x\n3,1,z\n4,2,z\n5,5,x\n6,1,z\n"
    (here / "rows.csv").write_text(rows)
    asked = "dataset=file", "dataset.path=rows.csv", "dataset.target=y", "method=cart"
    words = "split=none", "tracker=none", "stopping.standard.max_depth=1", "hydra.run.dir=f"
    assert call("run", *asked, *words).status == 0
    page = "export", "f", "--to", "page", "export.alternatives=1"
    verbs = ("why", "f", "0"), ("show", "f", "--outliers"), ("importances", "f"), page
    found = [call(*verb).out for verb in verbs]
    (here / "rows.csv").rename(here / "moved.csv")
    for verb, before in zip(verbs, found, strict=True):
        assert "rows.csv: no such file; say where it is now, dataset.path=FILE" in call(*verb).error
        assert call(*verb, "dataset.path=moved.csv").out == before
    assert (
        "unknown parameter 'pth'; did you mean 'path'"
        in call("why", "f", "0", "dataset.pth=x").error
    )
    assert "only export.alternatives=N" in call(*page[:4], "dataset.path=moved.csv").error
    assert "'dataset' has no place here" in call("show", "f", "dataset.path=moved.csv").error
    assert "'sed' has no place here" in call("show", ".", "sed=1").error
    (here / "moved.csv").write_text(rows.replace("6,1", "6,2"))
    assert "is not what it was" in call("why", "f", "0", "dataset.path=moved.csv").error


def test_why_refuses_data_that_have_changed(call, run, here):
    (here / "toy.py").write_text(
        (here / "toy.py").read_text().replace("0.5 * x[:, 1]", "0.1 * x[:, 1]")
    )
    # a module of that name is loaded in this process already: the true command sees the new file
    done = subprocess.run(
        [sys.executable, "-m", "arboretum.cli", "why", "r", "0", "--plugin", "toy.py"],
        cwd=here,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1
    assert "the data set toy is not what it was" in done.stderr


def test_predict_answers_for_every_row_whatever_the_separator(call, run, here):
    tree = read_run(run).tree
    (here / "rows.csv").write_text("\ufeffb;extra;a\n1.5;x;-2\n-1;y;?\n")
    answer = list(
        csv.DictReader(io.StringIO(call("predict", "r", "rows.csv", "--proba", "--node").out))
    )
    assert [set(row) for row in answer] == [{"prediction", "p(no)", "p(yes)", "node"}] * 2
    node = 0
    while not tree.is_leaf[node]:
        node = int(tree.children(node)[tree.rule(node).outcome_of({"a": -2.0, "b": 1.5})])
    assert (answer[0]["prediction"], answer[0]["node"]) == (
        tree.classes[tree.label[node]],
        str(node),
    )
    for row in answer:
        # six digits are written
        assert float(row["p(no)"]) + float(row["p(yes)"]) == pytest.approx(1.0, abs=1e-5)
    assert call("predict", "r", "rows.csv", "--output", "out.csv").out == ""
    assert (here / "out.csv").read_text().splitlines()[0] == "prediction"


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (b"", "is empty"),
        (b"a,b\n1\n", "line 2 has 1 cells, the header has 2"),
        (b"a,a\n1,2\n", "column name 'a' comes twice"),
        (b"a,b\n1,two\n", "b must be a number; got 'two' in row 1"),
        (b"a,b\n1,2.5\n2,x,y\n", "line 3 has 3 cells"),
        (
            b"a;b\n1,5;2.5\n",
            "a must be a number; got '1,5' in row 1; dataset.decimal=comma reads decimal commas",
        ),
        (b"a,b\n1,inf\n", "column 'b' holds an infinite value"),
        (b"a,b\n1,\xff\n", "rows.csv: byte 0xff in line 2 is not utf-8; set dataset.encoding"),
        (b"a,b\n1,\x00\n", "rows.csv: line 2 holds a NUL byte"),
        (b"PK\x03\x04 zipped", "rows.csv: this is a zip archive"),
        (b"c,d\n1,2\n", "a"),
    ],
)
def test_predict_refuses_rows_that_it_cannot_read(content, rule, call, run, here):
    (here / "rows.csv").write_bytes(content)
    result = call("predict", "r", "rows.csv")
    assert result.status == 1 and rule in result.error
    assert "nope.csv: no such file" in call("predict", "r", "nope.csv").error


def test_predict_reads_every_format_that_runs_read(call, run, here):
    import pyarrow as pa
    from pyarrow import parquet

    text = "a,b\n-2,1.5\n,-1\n2,0.25\n"
    (here / "rows.csv").write_text(text)
    (here / "rows.csv.gz").write_bytes(gzip.compress(text.encode()))
    (here / "utf16.csv").write_bytes(text.encode("utf-16"))
    (here / "comma.csv").write_text(text.replace(",", ";").replace(".", ","))
    (here / "rows.arff").write_text(
        "@attribute a numeric\n@attribute b real\n@data\n-2,1.5\n?,-1\n2,0.25\n"
    )
    parquet.write_table(
        pa.table({"b": [1.5, -1, 0.25], "a": pa.array([-2, None, 2])}), here / "rows.parquet"
    )
    expected = call("predict", "r", "rows.csv", "--proba", "--node").out
    assert expected.count("\n") == 4
    for name in ("rows.csv.gz", "utf16.csv", "comma.csv", "rows.arff", "rows.parquet"):
        assert call("predict", "r", name, "--proba", "--node").out == expected, name


def test_predict_takes_options_for_the_file_and_no_others(call, run, here):
    (here / "rows.txt").write_bytes("a:b:stra\xdfe\n1,5:2:\xe4\n".encode("latin-1"))
    options = ["dataset.encoding=latin-1", "dataset.separator=':'", "dataset.decimal=comma"]
    assert call("predict", "r", "rows.txt", *options).out.count("\n") == 2
    refused = call("predict", "r", "rows.txt", "dataset.separator=:")
    assert refused.status == 1 and "cannot read override 'dataset.separator=:'" in refused.error
    assert (
        "dataset.target: unknown option 'target'"
        in call("predict", "r", "rows.txt", "dataset.target=a").error
    )
    assert "dataset.decimal" in call("predict", "r", "rows.txt", "dataset.decimal=dot").error


# -- what is installed -----------------------------------------------------------------------------


def test_plugins_is_a_bibliography_with_a_command_for_each(call):
    text = call("plugins").out
    assert "1984  Breiman" in text and "arboretum run dataset=iris method=cart" in text
    assert "criterion.reduction" in call("plugins", "--names").out.splitlines()
    assert "tracker:" not in call("plugins", "criterion").out
    assert (
        "unknown kind 'criterium'; did you mean 'criterion'?" in call("plugins", "criterium").error
    )


def test_plugins_and_explain_load_nothing_heavy(here):
    code = (
        "import sys\nfrom arboretum.cli.main import main\n"
        "main(['plugins']); main(['explain', 'criterion.reduction'])\n"
        "heavy = [m for m in ('numba', 'mlflow', 'sklearn', 'hydra', 'pandas', 'scipy') if m "
        "in sys.modules]\n"
        "print('heavy:', heavy)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=here,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "heavy: []"


def test_explain_tells_parameters_with_bounds_and_the_closest_name(call):
    text = call("explain", "stopping.standard").out
    assert (
        "stopping.standard.max_depth=null  (int or null; ≥ 0; in tests)\n      tests on a "
        "path, at most\n" in text
    )
    assert "owner: arboretum_basics" in text
    assert "follows theta" in call("explain", "stopping.mass").out
    assert (
        "order" in call("explain", "method.greedy").out
        and "depth | breadth | best" in call("explain", "method.greedy").out
    )
    assert "did you mean 'method.greedy'?" in call("explain", "greedy").error
    assert "selects:" in call("explain", "method.cart").out
    assert "shape: sums, minimised by solver=leaf_sums" in call("explain", "objective.poisson").out
    solver = call("explain", "solver.leaf_sums").out
    assert (
        "minimises objectives of the shape: sums\nlimits that it knows: max_depth, min_leaf\n"
        in (solver)
    )
    assert "shape" not in call("explain", "objective.max_cost").out, "it states none"
    assert "kernels may grow subtrees" in call("explain", "criterion.reduction").out
    assert (
        "node by node, for want of a kernel: criterion random has no kernel"
        in call("explain", "criterion.random").out
    )
    assert (
        "unknown criterion 'reductoin'; did you mean 'reduction'"
        in call("explain", "criterion.reductoin").error
    )
    assert "unknown component 'criterio.reduction'; did you mean 'criterion.reduction'?" in (
        call("explain", "criterio.reduction").error
    )


def test_why_says_that_it_grows_in_memory_what_grew_elsewhere(here, call):
    words = ["dataset=iris", "method=cart", "split=none", "tracker=none", "hydra.run.dir=c"]
    assert call("run", *words, "rows=chunks").status == 0
    assert "explained with rows in memory: the run had chunks" in call("why", "c", "0").out
    assert call("run", *words[:-1], "hydra.run.dir=m").status == 0
    assert "in memory" not in call("why", "m", "0").out


# -- export ----------------------------------------------------------------------------------------


def test_a_page_lists_what_else_might_have_been_asked_where_it_is_asked_for(run, call):
    plain = call("export", "--plugin", "toy.py", "r", "--to", "page").out
    assert '"alternatives":{}' in plain
    page = call("export", "--plugin", "toy.py", "r", "--to", "page", "export.alternatives=2").out
    data = json.loads(page.partition('id="data">')[2].partition("</script>")[0])
    tree = read_run(run).tree
    assert set(data["alternatives"]) == {str(node) for node in tree.inner.tolist()}
    for node, found in data["alternatives"].items():
        scores = [score for _, score, _ in found["tests"]]
        assert scores == sorted(scores, reverse=True) and found["of"] >= len(scores) >= 2
        taken = [words for words, _, chosen in found["tests"] if chosen]
        assert taken == [tree.rule(int(node)).describe()]


def test_a_tree_leaves_in_every_installed_form_as_its_method_writes_it(call, here):
    assert call("run", "dataset=iris", "tracker=none", "hydra.run.dir=quick").status == 0
    tree = read_run(here / "quick").tree
    assert call("export", "quick", "--to", "json", "--out", "tree.out").status == 0
    said = call("export", "quick", "--to", "json", "--out", "quick").error
    assert "'quick' is a folder, and this is one file; name a FILE in it" in said
    assert (here / "tree.out").read_text(encoding="utf-8") == tree.to_json()
    assert call("export", "quick", "--to", "sql").out.rstrip("\n") == tree.to_sql().rstrip("\n")
    assert (
        call("export", "quick", "--to", "svg", "export.max_depth=1", "--out", "tree.out").status
        == 0
    )
    assert (here / "tree.out").read_text(encoding="utf-8") == tree.to_svg(max_depth=1)
    assert (
        call(
            "export",
            "quick",
            "--to",
            "questionnaire",
            "--out",
            "tree.out",
            'export.questions={petal_width: "How wide?"}',
        ).status
        == 0
    )
    assert '"words":"How wide?"' in (here / "tree.out").read_text(encoding="utf-8")
    assert call("export", "quick", "--to", "sklearn", "--out", "tree.out").status == 0
    assert pickle.loads((here / "tree.out").read_bytes()).tree_.node_count == tree.n_nodes


def test_a_form_that_is_not_installed_or_a_field_it_lacks_is_refused(call, here):
    assert call("run", "dataset=iris", "tracker=none", "hydra.run.dir=quick").status == 0
    assert (
        "unknown export 'sqll'; did you mean 'sql'" in call("export", "quick", "--to", "sqll").error
    )
    assert (
        "export 'sql': unknown parameter 'max_depth'"
        in call("export", "quick", "--to", "sql", "export.max_depth=1").error
    )
    assert (
        "cannot be written"
        in call("export", "quick", "--to", "sql", "--out", "quick/record.json/tree.sql").error
    )


# -- ui and sync -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "verb", [("show", "typo"), ("ui",), ("why", "typo", "0"), ("predict", "typo", "rows.csv")]
)
def test_reading_makes_no_store_and_says_what_makes_one(verb, call, here):
    before = sorted(here.rglob("*"))
    error = call(*verb).error
    assert f"there is no MLflow store sqlite:///{here}/mlflow.db yet" in error
    assert (
        "the first run makes it (arboretum run dataset=iris method=cart)" in error
        and "tracker.uri=" in error
    )
    assert sorted(here.rglob("*")) == before


def test_python_reads_without_making_a_store_either(here):
    before = sorted(here.rglob("*"))
    with pytest.raises(
        TrackerError, match="'typo' is no run folder here, and there is no MLflow store"
    ):
        load("typo")
    assert sorted(here.rglob("*")) == before


@pytest.mark.parametrize("several", [(), ("-m", "seed=1,2")])
def test_an_address_that_names_no_store_is_refused_before_anything_is_grown(several, call, here):
    before = sorted(here.rglob("*"))
    result = call(
        "run",
        "--plugin",
        "toy.py",
        "dataset=toy",
        "dataset.seconds=30",
        "tracker.uri=foo://bar",
        *several,
    )
    assert (result.status, result.out) == (1, "")
    assert (
        "tracker.uri must be sqlite:///PATH, postgresql://…, or http(s)://…; got 'foo://bar'"
        in result.error
    )
    assert [path for path in sorted(here.rglob("*")) if path not in before and path.is_file()] == []


def test_ui_without_a_user_interface_says_so(call):
    assert "tracker none has no user interface" in call("ui", "tracker=none").error
    assert "'dataset' has no place here" in call("ui", "dataset=iris").error


@pytest.mark.slow
def test_sync_sends_what_the_tracker_does_not_have_and_nothing_twice(call, toy, here):
    toy("seed=1", "hydra.run.dir=outputs/a")
    assert "0 sent, 0 there already, 0 not sent, 1 asked for no tracker" in call("sync").out
    uri = f"tracker.uri=sqlite:///{here / 'store.db'}"
    assert call("sync", "outputs", uri).out.startswith("1 sent, 0 there already, 0 not sent")
    assert call("sync", "outputs", uri).out.startswith("0 sent, 1 there already, 0 not sent")
    run_id = json.loads((here / "outputs" / "a" / "tracked.json").read_text())["id"]
    assert "cart on toy" in call("show", run_id, uri).out, "RUN is a tracker's run id, too"
    assert "no run 'nothing'" in call("show", "nothing", uri).error
    assert "there is no folder 'nope'" in call("sync", "nope").error


def test_why_and_from_use_what_was_chosen_instead_of_the_presets_selection(call, here):
    """A criterion of one's own with a field that the preset's criterion does not have."""
    (here / "mine.py").write_text(
        "import attrs\nimport numpy as np\nfrom arboretum.api import Capability, param\n"
        "@attrs.frozen\nclass Power:\n"
        '    """A power of the smaller outcome\'s mass."""\n'
        "    kind, name, paper, capabilities = 'criterion', 'power', '', "
        "(Capability.classification, Capability.multiclass)\n"
        "    exponent: float = param(2.0, 'exponent')\n"
        "    def score(self, tables, node):\n"
        "        return tables.mass.min(axis=-1) ** self.exponent\n"
    )
    chosen = ("--plugin", "mine.py", "criterion=power", "criterion.exponent=0.5", "encoder=onehot")
    assert (
        call("run", *chosen, "dataset=iris", "tracker=none", "seed=1", "hydra.run.dir=r1").status
        == 0
    )
    assert call("run", "--from", "r1", "--plugin", "mine.py", "hydra.run.dir=r2").err == ""
    first, again = read_run(here / "r1"), read_run(here / "r2")
    assert again.fingerprint == first.fingerprint
    assert again.config["criterion"] == {"name": "power", "exponent": 0.5}
    text = call("why", "r1", "0", "--plugin", "mine.py").out
    best = next(line for line in text.splitlines() if line.startswith("▸"))
    assert spell_cell(float(first.tree.score[0])) in best.split()
