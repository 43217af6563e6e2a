"""Stand-ins for the CUDA libraries that the Linux wheel of torch asks for, so that it imports on a machine without them.

Usage: torch_stubs.py SITE-PACKAGES/torch/lib

Each missing library is written beside torch's own, with the symbols and symbol versions that torch's libraries look up
in it. Every function returns an error, hence torch finds no GPU. Needs gcc and binutils.
"""

import collections
import pathlib
import re
import subprocess
import sys

VERSIONLESS_SYMBOLS_BELONG_TO = "libcudart.so.13"


def lines(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()


def missing_libraries(folder, objects):
    needed = {m[1] for path in objects for line in lines("readelf", "-d", path) if (m := re.search(r"NEEDED.*\[(.+?)\]", line))}
    return {name for name in needed if not (folder / name).exists() and re.match(r"lib(cu|nccl|nv)", name)}


def wanted_symbols(objects, libraries):
    """{library: {symbol version: {symbol}}}"""
    library_of, wanted = {}, collections.defaultdict(lambda: collections.defaultdict(set))
    for path in objects:
        current = None
        for line in lines("readelf", "-V", path):
            if m := re.search(r"File: (\S+)", line):
                current = m[1]
            elif (m := re.search(r"Name: (\S+)", line)) and current in libraries:
                library_of[m[1]] = current
        for line in lines("nm", "-D", "--undefined-only", path):
            symbol, _, version = line.split()[-1].partition("@")
            if version in library_of:
                wanted[library_of[version]][version].add(symbol)
            elif not version and re.match(r"cu|nccl|nvshmem", symbol):
                wanted[VERSIONLESS_SYMBOLS_BELONG_TO][VERSIONLESS_SYMBOLS_BELONG_TO].add(symbol)
    return wanted


def function(symbol):
    body = "lea message(%rip),%rax" if "String" in symbol else "mov $100,%eax"
    return f".text\n.globl {symbol}\n.type {symbol},@function\n{symbol}: {body}\nret\n"


def write_stub(folder, library, versions):
    source, script = folder / "stub.s", folder / "stub.map"
    symbols = sorted(set().union(*versions.values()))
    source.write_text('.data\nmessage: .asciz "no CUDA"\n' + "".join(map(function, symbols)) + '.section .note.GNU-stack,"",@progbits\n')
    script.write_text("".join(f"{v} {{ {'global: ' if s else ''}{''.join(f'{x}; ' for x in sorted(s))}}};\n" for v, s in versions.items()))
    subprocess.run(["gcc", "-shared", "-nostdlib", f"-Wl,-soname,{library}", "-o", folder / library, source, f"-Wl,--version-script={script}"], check=True)
    source.unlink()
    script.unlink()


def main():
    folder = pathlib.Path(sys.argv[1])
    objects = list(folder.glob("*.so*"))
    libraries = missing_libraries(folder, objects)
    wanted = wanted_symbols(objects, libraries)
    for library in sorted(libraries):
        write_stub(folder, library, wanted[library] or {library: set()})
    print(len(libraries), "stand-ins written")


if __name__ == "__main__":
    main()
