"""tools/check_includes.py must find planted upward and sideways includes, and accept the legal tree around them."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "check_includes.py"

LEGAL = {
    "include/tilewright/tile/element.hpp": "#pragma once\n",
    "include/tilewright/tile/cpu/launch.hpp": "#include <tilewright/tile/element.hpp>\n#include <vector>\n",
    "include/tilewright/tile/check/launch.hpp": "#include <tilewright/tile/element.hpp>\n",
    "include/tilewright/view.hpp": "#include <cstddef>\n#include <tilewright/tile/element.hpp>\n",
    "include/tilewright/check.hpp": "#include <tilewright/tile/check/launch.hpp>\n",
    "programs/gemm.hpp": "#include <tilewright/tile/element.hpp>\n",
    "src/core/checked.hpp": "#include <tilewright/view.hpp>\n",
    "src/io/npy.cpp": '#include <fmt/format.h>\n#include "core/checked.hpp"\n',
    "src/plan/plan.hpp": '#include "core/checked.hpp"\n',
    "src/gemm/gemm.cpp": '#include "plan/plan.hpp"\n#include "programs/gemm.hpp"\n#include <tilewright/tile/cpu/launch.hpp>\n',
    "cli/main.cpp": '#include <CLI/CLI.hpp>\n#include "plan/plan.hpp"\n',
    "tests/oracle/judge.hpp": "#include <tilewright/view.hpp>\n",
    "tests/gemm/gemm_test.cpp": '#include <gtest/gtest.h>\n#include "tests/oracle/judge.hpp"\n#include "core/checked.hpp"\n',
}

# file, text of the faulty line, what the message must name
FAULTS = [
    ("src/core/view.cpp", '#include "plan/plan.hpp"', "src/core may not include src/plan/plan.hpp"),
    ("src/io/npy.cpp", '#include "plan/plan.hpp"', "src/io may not include src/plan/plan.hpp"),
    ("src/plan/plan.cpp", "#  include <tilewright/tile/cpu/launch.hpp>", "src/plan may not include"),
    ("include/tilewright/view.hpp", '#include "core/checked.hpp"', "include/tilewright may not include src/core"),
    ("include/tilewright/tile/element.hpp", "#include <tilewright/view.hpp>", "may include: nothing but its own files"),
    ("include/tilewright/tile/element.hpp", "#include <cstdint>", "compiled without a standard library"),
    ("include/tilewright/tile/cpu/launch.hpp", '#include "../check/launch.hpp"', "tile/cpu may not include"),
    ("include/tilewright/view.hpp", "#include <fmt/format.h>", "its user may not have"),
    ("include/tilewright/view.hpp", "#include <tilewright/check.hpp>", "include/tilewright may not include"),
    ("include/tilewright/tile/check/launch.hpp", "#include <tilewright/check.hpp>", "tile/check may not include"),
    ("src/gemm/gemm.cpp", "#include <tilewright/tile/check/launch.hpp>", "src/gemm may not include"),
    ("programs/gemm.hpp", "#include <tilewright/view.hpp>", "programs may not include"),
    ("tests/oracle/judge.hpp", '#include "core/checked.hpp"', "tests/oracle may not include src/core"),
    ("tests/gemm/gemm_test.cpp", '#include "gone.hpp"', "there is no file gone.hpp"),
    ("src/new_folder/file.cpp", "int x;", "src/new_folder is in no layer"),
]


def check(files):
    with tempfile.TemporaryDirectory() as root:
        for name, text in files.items():
            path = pathlib.Path(root, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return subprocess.run([sys.executable, "-B", str(SCRIPT), root], capture_output=True, text=True, check=False)


class CheckIncludes(unittest.TestCase):
    def test_legal_tree_passes(self):
        result = check(LEGAL)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_each_planted_fault_is_found_at_its_line(self):
        for name, line, message in FAULTS:
            with self.subTest(file=name, line=line):
                result = check({**LEGAL, name: "\n" + line + "\n"})
                self.assertEqual(result.returncode, 1, result.stdout)
                where = f"{name}:1:" if "no layer" in message else f"{name}:2:"
                self.assertIn(where, result.stdout)
                self.assertIn(message, result.stdout)
                self.assertEqual(len(result.stdout.splitlines()), 1, result.stdout)

    def test_empty_tree_fails(self):
        self.assertEqual(check({"README.md": ""}).returncode, 1)


if __name__ == "__main__":
    unittest.main()
