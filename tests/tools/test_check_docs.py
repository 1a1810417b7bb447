"""tools/check_docs.py must find planted dead paths, code that does not compile and commands that name nothing."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "check_docs.py"

VIEW = "#pragma once\nnamespace tilewright {\nstruct MatrixView { int rows; };\nstruct MutableMatrixView { int rows; };\n}\n"
LEGAL = {
    "include/tilewright/view.hpp": VIEW,
    "src/core/view.cpp": "",
    "examples/digits/main.cpp": "",
    "examples/digits/digits.npy": "",
    "run": "",
    "CMakePresets.json": '{"configurePresets": [{"name": "release"}]}',
    "docs/numerics.md": "# Numerics: the bound\n",
    "README.md": """# A page
`include/tilewright/view.hpp`, `tilewright/view.hpp`, `src/*/*.cpp`, `src/{core}/`, `./run`, `M/N`, `build/release/bin/x`
[the bound](docs/numerics.md#numerics-the-bound), [here](#a-page), [elsewhere](https://example.org/none)
```cpp declarations
#include <vector>
inline int twice(int x) { return 2 * x; }
```
```cpp
std::vector<int> rows{twice(a.rows), b.rows, c.rows};
```
```cpp
#include <tilewright/view.hpp>
int main() { return tilewright::MatrixView{0}.rows; }
```
```sh
# a comment with none/such.txt
./run
cmake --preset release
build/release/bin/tilewright gemm examples/digits/digits.npy \\
  -o examples/new.npy
```
```text
none/such.hpp
```
""",
}

# a line or block added to the page, and what the message must name
FAULTS = [
    ("see `src/core/gone.cpp`", "there is no src/core/gone.cpp"),
    ("see `gone/view.hpp`", "there is no gone/view.hpp"),
    ("see `src/{core,gone}/`", "there is no src/gone/"),
    ("see `src/*/*.cu`", "there is no src/*/*.cu"),
    ("see `./gone`", "there is no gone"),
    ("see `examples/gone`", "there is no examples/gone"),
    ("[dead](docs/gone.md)", "leads to docs/gone.md"),
    ("[dead](docs/numerics.md#gone)", "has no heading for #gone"),
    ("```cpp\nint x = thrice(1);\n```", "README.md:26: this block"),
    ("```cpp declarations\nint f() { return g(); }\n```", "does not compile"),
    ("```cpp\nint main() { return gone; }\n```", "does not compile"),
    ("```cpp\nint x = 1\n```", "does not compile"),
    ("```cpp kernle\nint x;\n```", "unknown kind of C++ block: kernle"),
    ("```sh\n./gone\n```", "names ./gone"),
    ("```sh\ntools/gone.py\n```", "names tools/gone.py"),
    ("```sh\n./run\nbuild/release/bin/tilewright gemm examples/gone.npy\n```", "README.md:27: the command names examples/gone.npy"),
    ("```sh\nbuild/release/bin/gone\n```", "makes no build/release/bin/gone"),
    ("```sh\nbuild/gone/bin/digits\n```", "makes no build/gone/bin/digits"),
    ("```sh\ncmake --preset gone\n```", "no preset gone"),
    ("```sh\necho 'open\n```", "not a shell command"),
    ("```text\nopen", "never closed"),
]


def check(files):
    with tempfile.TemporaryDirectory() as root:
        for name, text in files.items():
            path = pathlib.Path(root, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return subprocess.run([sys.executable, "-B", str(SCRIPT), root], capture_output=True, text=True, check=False)


class CheckDocs(unittest.TestCase):
    def test_legal_page_passes(self):
        result = check(LEGAL)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("2 pages, 3 blocks", result.stdout)

    def test_each_planted_fault_is_found(self):
        for fault, message in FAULTS:
            with self.subTest(fault=fault):
                result = check({**LEGAL, "README.md": LEGAL["README.md"] + fault + "\n"})
                self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
                self.assertIn(message, result.stdout)
                self.assertEqual(len([line for line in result.stdout.splitlines() if line[0] != " "]), 1, result.stdout)

    def test_missing_readme_fails(self):
        result = check({name: text for name, text in LEGAL.items() if name != "README.md"})
        self.assertNotEqual(result.returncode, 0)


if __name__ == "__main__":
    unittest.main()
