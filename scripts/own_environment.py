"""A script's own environment of Python packages, outside the tree: below ~/.cache/headwise, or XDG_CACHE_HOME's."""

import os
import pathlib
import subprocess
import sys
import venv


def folder_of(name):
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return pathlib.Path(cache, "headwise", name)


def enter(name, packages, pip_options=()):
    """Starts the running script again in the environment `name`, which is made first, from the network, if it is not
    there. Packages are pinned, NAME==VERSION; the first tells one make of the environment from another."""
    folder = folder_of(name)
    if pathlib.Path(sys.prefix).resolve() == folder.resolve():
        return
    python = folder / "bin" / "python"
    ready = folder / packages[0]
    if not ready.exists():
        script = pathlib.Path(sys.argv[0]).stem
        print(f"{script}: installing {' and '.join(packages)} into {folder}", file=sys.stderr)
        venv.create(folder, with_pip=True, clear=True)
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *pip_options]
        subprocess.run([*install, *packages], check=True)
        ready.touch()
    os.execv(python, [python, *sys.argv])
