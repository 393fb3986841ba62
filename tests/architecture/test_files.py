"""Who takes files away or puts others in their place: each with the reason why nothing of a
user's is lost by it.
"""

from __future__ import annotations

import ast

OWN_NAME = "a fresh name of its own beside the place"
ASKED = "the file that the caller names, as > in a shell"
OWN_FOLDER = "a temporary folder of its own"
KNOWN = {
    "framework/arboretum/runs/folder.py:make_ready write_bytes": OWN_NAME,
    "framework/arboretum/runs/folder.py:write_files open": OWN_NAME,
    "framework/arboretum/runs/folder.py:write_files replace": (
        "callers know the place: is_taken of runs, the sweep's own notes, --out of a verb"
    ),
    "framework/arboretum/runs/folder.py:remove unlink": (
        "callers name files of ours: temporary ones, and an error.txt or a note of the "
        "tracker in a run's own folder"
    ),
    "framework/arboretum/runs/folder.py:remove_empty rmdir": (
        "callers made the folder; what is in it, and a link to it, stay"
    ),
    "framework/arboretum/runs/sweeps.py:close rmtree": (
        "the folder of notes that this sweep made under a fresh name"
    ),
    "framework/arboretum/rows/mapped.py:mapped open": OWN_FOLDER,
    "framework/arboretum/rows/mapped.py:forget unlink": OWN_FOLDER,
    "framework/arboretum/cli/jobs.py:_folder_for rmtree": OWN_FOLDER,
    "framework/arboretum/kernels/disk_cache.py:compiling_once open": (
        "a lock in numba's cache, made if absent and never emptied"
    ),
    "framework/arboretum/plugin/discovery.py:place write_bytes": OWN_NAME,
    "framework/arboretum/plugin/discovery.py:place replace": (
        "a copy of a plugin's file, named after its content, in the folder for temporary files"
    ),
    "framework/arboretum/lab.py:trust write_text": OWN_NAME,
    "framework/arboretum/lab.py:trust replace": (
        "the note of what is trusted, which this command alone writes"
    ),
    "framework/arboretum/model/files.py:put_text write_text": OWN_NAME,
    "framework/arboretum/model/files.py:put_text replace": (
        "file_for: nothing was there, or a file of the same making"
    ),
    "framework/arboretum/model/files.py:put_text unlink": OWN_NAME,
    "framework/arboretum/proof/writing.py:__init__ open": OWN_NAME,
    "framework/arboretum/proof/writing.py:close replace": "file_for: nothing was there, or a proof",
    "framework/arboretum/proof/writing.py:__exit__ unlink": OWN_NAME,
    "framework/arboretum/cli/new.py:_write_folder write_text": (
        "into a folder that was not there, or was empty"
    ),
    "framework/arboretum/cli/show.py:write_out write_bytes": (
        "a device or a pipe, which has nothing to lose"
    ),
    "framework/arboretum/cli/terminal.py:open_output open": "the null device",
    "framework/arboretum/plugin/assemble.py:exported write_bytes": ASKED,
    "framework/arboretum/report/sheet.py:save_in_style savefig": ASKED,
    "plugins/arboretum_data/fetched.py:_fetch_into open": OWN_FOLDER,
    "plugins/arboretum_data/fetched.py:fetch_file replace": (
        "the place named after the content's checksum, where the same content would be"
    ),
    "plugins/arboretum_data/openml.py:fetch unlink": "what this very call has put into the cache",
    "plugins/arboretum_mlflow/schema.py:_check_folder open": (
        "the store's own lock, made if absent and never emptied"
    ),
    "plugins/arboretum_mlflow/schema.py:_hold_lock open": (
        "the store's own lock, made if absent and never emptied"
    ),
    "plugins/arboretum_mlflow/schema.py:make_ready write_text": "the store's own lock",
    "plugins/arboretum_mlflow/schema.py:_make_fresh unlink": OWN_NAME,
    "plugins/arboretum_mlflow/schema.py:_make_fresh replace": (
        "under the lock, where no database is"
    ),
    "plugins/arboretum_mlflow/schema.py:_migrate_store copy2": (
        "a copy of the database before it is migrated"
    ),
    "plugins/arboretum_mlflow/model_files.py:model_files write_text": OWN_FOLDER,
    "plugins/arboretum_mlflow/tables.py:write_texts write_text": OWN_FOLDER,
}
""""file:function call" → why it may."""

CALLS = {
    "unlink",
    "rmdir",
    "rmtree",
    "removedirs",
    "rename",
    "renames",
    "truncate",
    "touch",
    "write_text",
    "write_bytes",
    "savefig",
    "copy2",
    "copyfile",
    "copytree",
    "symlink_to",
    "hardlink_to",
}
OF_MODULES = {"remove": "os", "replace": "os", "move": "shutil"}


def _touches(call: ast.Call) -> str:
    """The name of a call that removes, replaces or writes files, or ""."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    owner = ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    if name == "open":
        modes = [
            node.value
            for one in (*call.args, *(key.value for key in call.keywords))
            for node in ast.walk(one)
            if isinstance(node, ast.Constant)
        ]
        return (
            name
            if any(
                isinstance(mode, str) and set(mode) <= set("rwxabt+") and set(mode) & set("wxa+")
                for mode in modes
            )
            else ""
        )
    if name in OF_MODULES:  # a text's replace takes two arguments, a path's one
        return (
            name
            if owner == OF_MODULES[name]
            or (name == "replace" and len(call.args) == 1 and not call.keywords)
            else ""
        )
    return name if owner and name in CALLS else ""


def _found(module) -> set[str]:
    found = set()
    for function in ast.walk(module.tree):
        if isinstance(function, ast.FunctionDef):
            calls = (node for node in ast.walk(function) if isinstance(node, ast.Call))
            found |= {
                f"{module.where}:{function.name} {name}"
                for call in calls
                if (name := _touches(call))
            }
    return found


def test_whoever_removes_replaces_or_writes_a_file_says_why_nothing_is_lost(house):
    found = set().union(*map(_found, house.modules))
    assert sorted(found - KNOWN.keys()) == [], (
        "say why nothing of a user's is lost, or ask file_for, write_files or make_ready"
    )
    assert sorted(KNOWN.keys() - found) == [], "reasons that nobody needs any more"
