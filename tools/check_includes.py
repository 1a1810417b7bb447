#!/usr/bin/env python3
"""Checks that includes run downwards only.

The table LAYERS below is the design: each folder, and the folders it may include. An include of a folder that is not named
there is upward or sideways, and fails with its file, line and rule. A folder that is missing from the table fails too, so
that a new one is placed on purpose. Usage: tools/check_includes.py [ROOT]
"""

import pathlib
import re
import sys

TILE = ["include/tilewright/tile"]
PUBLIC = TILE + ["include/tilewright"]
EXECUTORS = ["include/tilewright/tile/cpu", "include/tilewright/tile/check", "include/tilewright/tile/describe"]
CUDA = ["include/tilewright/cuda.hpp", "include/tilewright/tile/cuda"]
CORE = PUBLIC + ["src/core"]
GEMM = CORE + CUDA + ["include/tilewright/tile/cpu", "src/io", "src/plan", "src/cpu", "src/cuda", "src/gemm", "programs"]
CHECK = EXECUTORS + ["include/tilewright/check.hpp", "include/tilewright/describe.hpp"]
BENCH = GEMM + ["src/measure", "src/verify"]
COMMAND = GEMM + CUDA + CHECK + ["src/check", "src/verify", "src/measure", "bench", "examples/kernels"]

# folder, or one file: what its files may include besides each other. The longest entry that matches a file counts.
LAYERS = {
    "include/tilewright/tile": [],
    "include/tilewright": TILE,
    "include/tilewright/check.hpp": PUBLIC + ["include/tilewright/tile/check"],  # the checker's front door
    "include/tilewright/describe.hpp": PUBLIC + ["include/tilewright/tile/describe"],
    "include/tilewright/cuda.hpp": PUBLIC + ["include/tilewright/tile/cuda"],
    "include/tilewright/tile/cuda": TILE,  # device code: nothing of the host's
    "include/tilewright/tile/cpu": PUBLIC,
    "include/tilewright/tile/check": PUBLIC,
    "include/tilewright/tile/describe": PUBLIC,
    "programs": TILE,
    "examples/kernels": TILE,
    "examples": PUBLIC + CHECK + ["examples/kernels"],
    "src/core": PUBLIC,
    "src/io": CORE,
    "src/plan": CORE,
    "src/cpu": CORE + ["include/tilewright/tile/cpu"],
    "src/cuda": CORE + CUDA,
    "src/gemm": GEMM,
    "src/check": GEMM + CHECK + ["examples/kernels"],
    "src/verify": GEMM,
    "src/measure": TILE,  # timing alone: knows no matrix
    "bench": BENCH,
    "pack": GEMM,
    "cli": COMMAND,
    "tests/oracle": PUBLIC,
    "tests/shapes": PUBLIC + ["tests/oracle"],
    "tests": COMMAND + CUDA + ["src/cuda", "pack", "tests/oracle", "tests/shapes"],
}

# Headers of other projects. A user of the library has none of them, so no header of ours that is installed may ask for one.
FOREIGN = re.compile(r"(fmt|nlohmann|CLI|gtest|gmock|rapidcheck|benchmark|sqlite3)[/.]")
# The tile language is compiled where no standard library is.
WITHOUT_STANDARD_HEADERS = ["include/tilewright/tile", "programs", "examples/kernels"]

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SUFFIXES = {".hpp", ".cpp", ".h"}
SEARCH = ["include", "src", "."]  # the include folders of the build
NOT_OURS = {"build", ".git"}


def layer_of(path):
    """The longest entry of the table that holds the file, or None."""
    for folder in (path, *path.parents):
        if folder.as_posix() in LAYERS:
            return folder.as_posix()
    return None


def resolve(root, file, quote, name):
    """The file of this project that an include means, relative to root; None for headers from elsewhere."""
    places = [file.parent.as_posix()] * (quote == '"') + SEARCH
    for place in places:
        found = root / place / name
        if found.is_file():
            return found.resolve().relative_to(root)
    return None


def check_file(root, file):
    layer = layer_of(file)
    if layer is None:
        yield 1, f"the folder {file.parent.as_posix()} is in no layer: add it to LAYERS in tools/check_includes.py"
        return
    text = (root / file).read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quote, name = match.groups()
        target = resolve(root, file, quote, name)
        if target is None:
            if quote == '"' or name.startswith("tilewright/"):
                yield number, f"there is no file {name}"
            elif file.parts[0] == "include" and FOREIGN.match(name):
                yield number, f"an installed header includes <{name}>, which its user may not have"
            elif layer in WITHOUT_STANDARD_HEADERS:
                yield number, f"{layer} is compiled without a standard library, so it may not include <{name}>"
            continue
        below = layer_of(target)
        if below != layer and below not in LAYERS[layer]:
            allowed = ", ".join(sorted(set(LAYERS[layer]))) or "nothing but its own files"
            yield number, f"{layer} may not include {target.as_posix()} (of {below}); it may include: {allowed}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()
    files = sorted(
        path.relative_to(root)
        for path in root.rglob("*")
        if path.suffix in SUFFIXES and path.relative_to(root).parts[0] not in NOT_OURS
        and not path.relative_to(root).parts[0].startswith(".")
    )
    faults = [f"{file}:{line}: {rule}" for file in files for line, rule in check_file(root, file)]
    print("\n".join(faults) if faults else f"includes: {len(files)} files, all downwards")
    if not files:
        print(f"includes: no sources under {root}", file=sys.stderr)
    sys.exit(1 if faults or not files else 0)


if __name__ == "__main__":
    main()
