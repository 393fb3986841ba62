"""A lab of one's own: what the file ``arboretum.yaml`` of a folder chooses for all that is done in
it and below it.

    plugins: [criteria.py]        # one-file plugins: of every verb, arboretum.run and estimators
    conf: conf                    # a folder of choices, as --config-dir
    data: data                    # the data home, unless ARBORETUM_DATA names one
    store: sqlite:///mlflow.db    # tracker.uri, unless it is given
    defaults: {seed: 1, split: kfold, stopping.standard.max_depth: 4}    # of arboretum run

A folder that was found never runs code, but for a lab that its user trusts: ``arboretum trust``
notes the checksum of that file, of every plugin, and of every file of the folder of choices.  Any
change of any of them asks again.
"""

import hashlib
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from arboretum.errors import ConfigError, StoreError, unknown

FILE = "arboretum.yaml"
VARIABLE = "ARBORETUM_LAB"
"""Variable of the environment that names a lab's folder; ``none``: go without."""
NONE = "none"
TRUSTED = "trusted.json"
STORE = "sqlite:///"


@attrs.frozen
class Lab:
    """What a lab chooses, with absolute paths; nothing at all where there is none.

    defaults : JSON text of KEY → value.
    checksums : (file, SHA-256 of its content) of all that it takes on trust, sorted.
    """

    folder: str = ""
    plugins: tuple[str, ...] = ()
    conf: str = ""
    data: str = ""
    store: str = ""
    defaults: str = "{}"
    checksums: tuple[tuple[str, str], ...] = ()

    @property
    def fingerprint(self) -> str:
        """Checksum of all checksums."""
        return hashlib.sha256(json.dumps(self.checksums).encode()).hexdigest()

    def trust(self) -> None:
        """Note for this user that everything in it, as it is now, may be run.  Raises
        StoreError.
        """
        path = _notes()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            text = json.dumps({**_notes_of_trust(), self.folder: dict(self.checksums)}, indent=1)
            beside = path.with_name(f".{path.name}.{os.getpid()}")
            beside.write_text(text, encoding="utf-8")
            os.replace(beside, path)
        except OSError as error:
            raise StoreError(
                f"what is trusted cannot be noted in {path} ({error.strerror})"
            ) from error

    def changes(self) -> list[str]:
        """Each file with a word, "new", "changed" or "gone", since it was trusted last; all are
        new where it never was.
        """
        before, now = _notes_of_trust().get(self.folder, {}), dict(self.checksums)
        words = {
            name: "new" if name not in before else "changed"
            for name in now
            if before.get(name) != now[name]
        }
        return [
            f"{word} {name}"
            for name, word in {**words, **dict.fromkeys(before.keys() - now.keys(), "gone")}.items()
        ]


def current() -> Lab:
    """The lab of the working folder, or of the nearest folder above that has one.

    Raises ConfigError where it is not trusted as it stands, or cannot be read.
    """
    folder = find()
    if folder is None:
        return Lab()
    lab = read(folder)
    if changes := lab.changes():
        seen = (
            "has changed since you trusted it"
            if lab.folder in _notes_of_trust()
            else "is not trusted"
        )
        files = ", ".join(changes[:3]) + f" and {len(changes) - 3} more" * (len(changes) > 3)
        where = folder / FILE
        raise ConfigError(
            f"{where} is a lab that {seen} ({files}); look at these files, then say: arboretum "
            f"trust {folder}; or go on without it: {VARIABLE}={NONE}"
        )
    return lab


def find() -> Path | None:
    """The folder of the lab that holds here; None where there is none, or VARIABLE says so."""
    if named := os.environ.get(VARIABLE):
        return None if named == NONE else Path(named).expanduser().absolute()
    try:
        here = os.getcwd()
    except OSError:  # it was removed
        return None
    while True:
        if os.path.isfile(os.path.join(here, FILE)):
            return Path(here)
        above = os.path.dirname(here)
        if above == here:
            return None
        here = above


def read(folder: Path) -> Lab:
    """A lab, and the checksums of its files.  Raises ConfigError naming the file and the rule."""
    import yaml

    path, sums = folder / FILE, {}

    def contents(file: Path) -> bytes:
        """Read a file of the lab, and note its checksum in ``sums``."""
        try:
            content = file.read_bytes() if file.is_file() else None
        except OSError as error:
            raise ConfigError(f"{file} cannot be read ({error.strerror})") from error
        if content is None:
            raise ConfigError(
                f"{path} names {file}, which is no file"
                if file != path
                else f"{folder} holds no {FILE}"
            )
        sums[os.path.relpath(file, folder)] = hashlib.sha256(content).hexdigest()
        return content

    try:
        said = yaml.safe_load(contents(path)) or {}
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {' '.join(str(error).split())}") from None
    values = _check_values(said, path)
    plugins = tuple(str(_inside(folder, name)) for name in values["plugins"])
    for file in plugins:
        contents(Path(file))
    conf = str(_inside(folder, values["conf"])) if values["conf"] else ""
    for below, _, names in os.walk(conf) if conf else ():
        for name in names:
            contents(Path(below, name))
    if conf and not os.path.isdir(conf):
        raise ConfigError(f"{path}: conf must name a folder; got {values['conf']!r}")
    data = str(_inside(folder, values["data"])) if values["data"] else ""
    store = values["store"]
    if store.startswith(STORE) and not store.startswith(f"{STORE}/"):
        store = STORE + str(_inside(folder, store.removeprefix(STORE)))
    return Lab(
        folder=str(folder),
        plugins=plugins,
        conf=conf,
        data=data,
        store=store,
        defaults=json.dumps(values["defaults"]),
        checksums=tuple(sorted(sums.items())),
    )


def _check_values(said: object, path: Path) -> dict[str, Any]:
    """What the file says, with what it does not say; raises ConfigError naming the key."""
    kinds: Mapping[str, tuple[type[list[object] | str | dict[str, object]], str]] = {
        "plugins": (list, "a list of files"),
        "conf": (str, "a folder"),
        "data": (str, "a folder"),
        "store": (str, "a tracking URI"),
        "defaults": (dict, "KEY: VALUE, as in arboretum run KEY=VALUE"),
    }
    if not isinstance(said, dict):
        raise ConfigError(f"{path} must hold the keys {', '.join(kinds)}; got {said!r}")
    for key, value in said.items():
        if key not in kinds:
            raise ConfigError(f"{path}: {unknown('key', str(key), kinds)}")
        kind, words = kinds[key]
        if not isinstance(value, kind) or (
            kind is list and not all(isinstance(item, str) for item in value)
        ):
            raise ConfigError(f"{path}: {key} must be {words}; got {value!r}")
    try:
        json.dumps(said.get("defaults", {}))
    except TypeError as error:
        raise ConfigError(
            f"{path}: defaults must be numbers, texts and lists of them ({error})"
        ) from None
    return {key: said.get(key, kind()) for key, (kind, _) in kinds.items()}


def _inside(folder: Path, name: str) -> Path:
    """A path of the file, which starts from its folder."""
    return Path(os.path.normpath(folder / Path(name).expanduser()))


def _notes() -> Path:
    """Where it is noted which labs this user trusts: the platform's folder for configurations."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return base / "arboretum" / TRUSTED


def _notes_of_trust() -> dict[str, dict[str, str]]:
    """Folder of a lab → file → checksum; nothing where the note cannot be read."""
    try:
        found = json.loads(_notes().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return (
        {key: value for key, value in found.items() if isinstance(value, dict)}
        if isinstance(found, dict)
        else {}
    )
