# SPDX-License-Identifier: MIT
"""scripts/check-layers on small made-up trees: what it lets pass, and each violation that it names."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parent.parent / "scripts" / "check-layers"
LIST = """# Source layout

<!-- scripts/check-layers reads this list -->
```
include/tandem   public headers
src/low          what all use,
                 described in two lines
src/high         what uses it
src/high/inner   a module inside the folder of another
tests            tests of the whole
```
"""
CMAKE = """# comment
add_library(low a.cc)
target_link_libraries(
  low PUBLIC high)
"""
TARGETS = """target low STATIC_LIBRARY
source src/low/a.cc
target headers INTERFACE_LIBRARY
target high STATIC_LIBRARY
source src/high/b.cc
link $<BUILD_INTERFACE:headers>
link low
link -pthread
target high_test EXECUTABLE
source src/high/b_test.cc
link high
"""


class CheckLayers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.write("docs/architecture.md", LIST)
        self.write("CMakeLists.txt", CMAKE)
        self.write("targets.txt", TARGETS)
        self.write("include/tandem/public.h", "#pragma once\n#include <vector>\n")
        self.write("src/low/a.h", "#pragma once\n#include <tandem/public.h>\n")
        self.write("src/low/a.cc", '#include "low/a.h"\n')
        self.write("src/high/b.h", "#pragma once\n")
        self.write("src/high/b.cc", '#include "high/b.h"\n\n#include "low/a.h"\n')
        self.write("src/high/test_b.h", '#include "tests/support.h"\n')
        self.write("src/high/b_test.cc", '#include "b.h"\n#include "high/test_b.h"\n')
        self.write("src/high/inner/c.cc", '#include "high/b.h"\n')
        self.write("tests/support.h", "#pragma once\n")

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def run_check(self, *options):
        command = [sys.executable, SCRIPT, "--root", self.root, *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stderr.splitlines()

    def expect_refused(self, *parts, targets=True):
        """One line is printed, and all of these are in it."""
        options = ["--targets", self.root / "targets.txt"] if targets else []
        code, lines = self.run_check(*options)
        self.assertEqual((code, len(lines)), (1, 1), lines)
        for part in parts:
            self.assertIn(part, lines[0])

    def test_modules_may_use_those_above(self):
        self.assertEqual(self.run_check(), (0, []))
        self.assertEqual(self.run_check("--targets", self.root / "targets.txt"), (0, []))

    def test_an_include_of_a_module_below(self):
        self.write("src/low/a.cc", '#include "low/a.h"\n\n#include "high/b.h"\n')
        self.expect_refused(
            'src/low/a.cc:3: includes "high/b.h" of src/high, which stands below src/low',
            targets=False,
        )

    def test_an_include_of_a_module_inside_its_folder(self):
        self.write("src/high/inner/c.h", "#pragma once\n")
        self.write("src/high/b.h", '#include "inner/c.h"\n')
        self.expect_refused("src/high/b.h:1", "of src/high/inner, which stands below src/high")

    def test_a_public_header_that_includes_a_private_one(self):
        self.write("include/tandem/public.h", '#include "low/a.h"\n')
        self.expect_refused("include/tandem/public.h:1", "stands below include/tandem", targets=False)

    def test_an_include_of_what_tests_share(self):
        self.write("src/high/b.cc", '#include "tests/support.h"\n')
        self.expect_refused("src/high/b.cc:1", "which is for tests alone")

    def test_tests_keep_the_order_too(self):
        self.write("src/low/a_test.cc", '#include "high/b.h"\n')
        self.expect_refused("src/low/a_test.cc:1", "stands below src/low")

    def test_a_folder_that_is_in_no_module(self):
        self.write("src/other/d.cc", "\n")
        self.expect_refused("src/other/d.cc:1: in no module")

    def test_targets_that_link_in_a_circle(self):
        self.write("targets.txt", "target x\nlink y\ntarget y\nlink z\ntarget z\nlink $<LINK_ONLY:x>\n")
        self.expect_refused("targets link in a circle: x -> y -> z -> x")

    def test_a_target_that_links_a_module_below(self):
        self.write("src/high/b.cc", '#include "high/b.h"\n')
        self.write(
            "targets.txt",
            "target low\nsource src/low/a.cc\nlink high\ntarget high\nsource src/high/b.cc\n",
        )
        self.expect_refused("CMakeLists.txt:3: low (src/low) links high, which has src/high")

    def test_an_include_without_its_link(self):
        self.write("targets.txt", TARGETS.replace("link low\n", ""))
        self.expect_refused('src/high/b.cc:3: includes "low/a.h" of low, which high does not link')

    def test_a_library_that_is_loaded_is_not_linked(self):
        self.write("src/high/b.cc", '#include "low/a.h"\n#include "high/inner/c.h"\n')
        self.write("docs/architecture.md", LIST.replace("src/high/inner ", "src/high       "))
        self.write("src/high/inner/c.h", "#pragma once\n")
        for kind, code in (("MODULE", 0), ("SHARED", 1)):
            more = f"target inner {kind}_LIBRARY\nsource src/high/inner/c.cc\n"
            self.write("targets.txt", TARGETS + more)
            self.assertEqual(self.run_check("--targets", self.root / "targets.txt")[0], code)

    def test_a_list_that_cannot_be_read(self):
        self.write("docs/architecture.md", "# Nothing\n")
        code, lines = self.run_check()
        self.assertEqual(code, 2)
        self.assertIn("expected a block of modules", lines[0])
        self.write("docs/architecture.md", LIST.replace("src/low ", "src/gone"))
        code, lines = self.run_check()
        self.assertEqual(code, 2)
        self.assertIn("src/gone", lines[0])


if __name__ == "__main__":
    unittest.main()
