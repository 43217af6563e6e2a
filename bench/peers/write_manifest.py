"""Writes FOLDER/peers.json, which tells bench each peer's name and command; a peer that does not start is an error.

Usage: write_manifest.py FOLDER
"""

import json
import pathlib
import subprocess
import sys
from importlib.metadata import version

import ggml_flash


def main():
    folder = pathlib.Path(sys.argv[1])
    script = pathlib.Path(__file__).with_name("peer.py")
    versions = {
        "openvino": version("openvino"),
        "onnxruntime": version("onnxruntime"),
        "pytorch": version("torch"),
        "ggml": ggml_flash.version(),
    }
    peers = [
        {"name": f"{name} {number}", "command": [str(folder / "bin/python"), str(script), name]}
        for name, number in versions.items()
    ]
    for peer in peers:
        subprocess.run(peer["command"], stdin=subprocess.DEVNULL, check=True)
    (folder / "peers.json").write_text(json.dumps({"peers": peers}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
