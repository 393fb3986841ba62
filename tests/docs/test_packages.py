"""The wheel works away from the checkout; somebody else's package works beside it."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # builds and installs packages

ROOT = Path(__file__).resolve().parents[2]
SHOULD_HOLD = (
    "arboretum/py.typed",
    "arboretum/conf/experiment/small_trees.yaml",
    "arboretum_classic/presets/method/cart.yaml",
    "arboretum_data/plugin.py",
)


def _run(command: list[str], cwd: Path, **environment: str) -> str:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("ARBORETUM_", "PYTHON"))}
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**kept, "PIP_NO_INDEX": "1", **environment},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "--disable-pip-version-check",
    ]
    _run([*pip, "-w", str(folder), str(ROOT)], folder)
    (found,) = folder.glob("arboretum-*.whl")
    return found


def test_the_wheel_holds_the_framework_the_plugins_and_their_presets_but_no_tests(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert [name for name in SHOULD_HOLD if name not in names] == []
    assert [name for name in names if "/tests/" in name] == []


def test_the_source_distribution_holds_what_git_tracks(tmp_path):
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout: the tracked files are unknown")
    code = f"from hatchling import build; print(build.build_sdist({str(tmp_path)!r}))"
    packed = tmp_path / _run([sys.executable, "-c", code], ROOT).split()[-1]
    with tarfile.open(packed) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert set(listed.stdout.decode().split("\0")) - names <= {"", ".git-blame-ignore-revs"}


@pytest.fixture(scope="module")
def elsewhere(wheel, tmp_path_factory) -> tuple[Path, str]:
    """A folder far from the checkout, and code that runs the command from the unpacked wheel
    alone.
    """
    folder = tmp_path_factory.mktemp("elsewhere")
    target = folder / "site"
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--no-deps",
        "--disable-pip-version-check",
        "--target",
        str(target),
    ]
    _run([*pip, str(wheel)], folder)
    outer = next(path for path in sys.path if Path(path).name == "site-packages")
    # the environment's packages come without its .pth files, which lead to the checkout
    start = f"import sys; sys.path[:0] = [{str(target)!r}]; sys.path.append({outer!r})\n"
    return folder, start


def _command(elsewhere: tuple[Path, str], *arguments: str) -> str:
    folder, start = elsewhere
    code = start + f"from arboretum.cli.main import main; sys.exit(main({list(arguments)!r}))"
    return _run([sys.executable, "-S", "-c", code], folder)


def test_from_the_wheel_a_tree_is_grown_in_any_folder(elsewhere):
    folder, start = elsewhere
    code = (
        start + "import arboretum, arboretum_classic; print(arboretum.__file__, "
        "arboretum_classic.__file__)"
    )
    for path in _run([sys.executable, "-S", "-c", code], folder).split():
        assert Path(path).is_relative_to(folder), "the checkout is still being imported"
    # its kernels are compiled anew, as the checkout has its own: the fewest there are
    printed = _command(
        elsewhere,
        "run",
        "dataset=iris",
        "criterion=random",
        "encoder=multiway",
        "tracker=none",
        "hydra.run.dir=here",
    )
    assert "verified" in printed and (folder / "here" / "record.json").is_file()


def test_from_the_wheel_the_choices_of_conf_are_one_word(elsewhere):
    printed = _command(
        elsewhere, "run", "-m", "--cfg", "job", "+experiment=small_trees", "dataset=wine"
    )
    assert "goal: valid_balanced_accuracy" in printed


def test_from_the_wheel_every_first_party_plugin_is_found(elsewhere):
    printed = _command(elsewhere, "plugins", "--strict")
    assert all(
        name in printed
        for name in ("arboretum_basics", "arboretum_classic", "arboretum_data", "arboretum_mlflow")
    )


def test_the_tutorials_package_is_built_installed_and_swept(lab, reading):
    """The page's own blocks from "Share it" on, in an environment of their own, compared run by
    run.
    """
    page = ROOT / "docs" / "tutorial" / "first-criterion.md"
    for block in reading.blocks_of(page):
        if block.file:
            path = lab.folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
    install = next(
        b for b in reading.blocks_of(page) if b.language == "bash" and "pip install" in b.text
    )
    before = lab.bash("arboretum plugins criterion --names")
    assert "criterion.clean_cut" not in before.stdout
    done = lab.bash(install.text.partition("arboretum run")[0])
    assert done.returncode == 0, done.stdout
    assert "criterion.clean_cut" in lab.bash("arboretum plugins criterion --names").stdout
    sweep = (
        "arboretum run -m dataset=iris method=greedy criterion=clean_cut,reduction seed=1,2 "
        "tracker=none hydra.sweep.dir=swept"
    )
    done = lab.bash(sweep)
    assert done.returncode == 0, done.stdout
    records = sorted((lab.folder / "swept").glob("*/record.json"))
    assert len(records) == 4
    assert sum('"clean_cut"' in record.read_text(encoding="utf-8") for record in records) == 2


def test_a_generated_plugin_passes_its_own_tests(lab):
    done = lab.bash(
        "arboretum new my-criterion && cd my-criterion && python -m pytest -q -p no:cacheprovider"
    )
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout
