#!/usr/bin/env python3
"""`readme_example.py DOCUMENT.md OUT` writes the document's one block of C++ to OUT."""

import pathlib
import re
import sys

readme, out = map(pathlib.Path, sys.argv[1:])
blocks = re.findall(r"^```cpp\n(.*?)^```$", readme.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
if len(blocks) != 1:
    sys.exit(f"{readme}: {len(blocks)} blocks of C++ instead of one")
out.write_text(blocks[0], encoding="utf-8")
