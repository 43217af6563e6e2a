#!/bin/bash
# Makes the virtual environment .venv that oracle.py runs in: torch on the CPU with none of its CUDA libraries (1.5 GB).
# Needs python3-venv, gcc and binutils, and the network.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
venv=$(cd "$here/../.." && pwd)/.venv

python3 -m venv "$venv"
"$venv/bin/pip" install -q -r "$here/requirements.txt"
"$venv/bin/pip" install -q --no-deps torch==2.15.0 accelerate==1.15.0
"$venv/bin/python" "$here/torch_stubs.py" "$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/torch/lib"
"$venv/bin/python" -c 'import torch, transformers; print("torch", torch.__version__, "transformers", transformers.__version__)'
