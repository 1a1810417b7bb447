#!/usr/bin/env python3
"""Checks README.md and docs/*.md against the project: paths exist, C++ compiles, commands name files that are there.

How a page says what a block is:

    ```cpp                a whole program if it holds `int main`, else statements inside a function; a, b, c are views of
                          operands and result there (MatrixView a, b; MutableMatrixView c), and may be declared anew
    ```cpp declarations   declarations at namespace scope (a kernel, say); the later blocks of the page see them
    ```sh                 commands, started in the repository's folder; lines that start with # are comments
    ```text, no word      anything else; not looked at

Every block but a whole program has all public headers and `using namespace tilewright`, and may add #include lines. Paths are looked for in
`backticks` and in [links](…): a backticked word with a slash is a path of this project when its first part is a folder here
or when it ends like a source or document; {a,b} and * are expanded; what lies in build/ is made and not checked.

Usage: tools/check_docs.py [ROOT]   (the compiler is $CXX, else c++)
"""

import concurrent.futures
import itertools
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

FENCE = re.compile(r"^(`{3,})\s*(.*)$")
BACKTICKED = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
PATH = re.compile(r"[\w.{},*+-]*(/[\w.{},*+-]*)+")
OURS = (".hpp", ".cpp", ".cmake", ".md", ".py", ".json", ".npy", ".csv", "/")
FLAGS = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-unused"]


class Page:
    """A document: its prose lines and its blocks, with line numbers."""

    def __init__(self, root, path):
        self.name = path.relative_to(root).as_posix()
        self.folder = path.parent
        self.prose, self.blocks, self.faults = [], [], []
        block = fence = None
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            match = FENCE.match(line.strip())
            if block is None and match:
                fence = match[1]
                block = (match[2].split(), number + 1, [])
            elif block is not None and line.strip() == fence:
                self.blocks.append(block)
                block = None
            elif block is not None:
                block[2].append(line)
            else:
                self.prose.append((number, line))
        if block is not None:
            self.fault(block[1] - 1, "this block is never closed")

    def fault(self, line, text):
        self.faults.append((line, text))


def alternatives(word):
    """word with {a,b} expanded, as a shell does."""
    match = re.search(r"\{([^{}]*)\}", word)
    if not match:
        return [word]
    return list(
        itertools.chain.from_iterable(
            alternatives(word[: match.start()] + part + word[match.end() :]) for part in match[1].split(",")
        )
    )


def exists(root, folder, name):
    """Whether a path named by a page is there, seen from the repository, from the page, or from an include folder."""
    for place in (root, folder, root / "include", root / "src"):
        if "*" in name and any(place.glob(name)):
            return True
        if "*" not in name and (place / name).exists():
            return True
    return False


def check_paths(root, page):
    for number, line in page.prose:
        for word in BACKTICKED.findall(line):
            word = word.strip()
            name = word[2:] if word.startswith("./") else word
            if not PATH.fullmatch(word) or name.startswith(("/", "build/")):
                continue
            if word == name and not name.endswith(OURS) and not (root / name.split("/")[0]).exists():
                continue
            for one in alternatives(name):
                if not exists(root, page.folder, one):
                    page.fault(number, f"there is no {one}")
        for target in LINK.findall(line):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            linked = page.folder / name if name else root / page.name
            if not linked.exists():
                page.fault(number, f"the link leads to {name}, which does not exist")
            elif anchor and linked.suffix == ".md" and anchor not in anchors(linked):
                page.fault(number, f"{linked.name} has no heading for #{anchor}")


def anchors(path):
    """The anchors that a Markdown renderer gives the headings of a page."""
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+\s+(.*)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def check_commands(root, page):
    presets = {preset["name"] for preset in json.loads((root / "CMakePresets.json").read_text())["configurePresets"]}
    programs = {"tilewright"} | {path.parent.name for path in root.glob("examples/*/main.cpp")}
    for words, first, lines in page.blocks:
        if words[:1] != ["sh"]:
            continue
        number = first
        for count, command in joined(lines):
            try:
                tokens = shlex.split(command.lstrip().removeprefix("$ "), comments=True)
            except ValueError as error:
                page.fault(number, f"not a shell command ({error}): {command.strip()}")
                tokens = []
            for before, token in zip([""] + tokens, tokens):
                made = re.fullmatch(r"(?:\./)?build/([\w-]+)/bin/([\w-]+)", token)
                if made and (made[1] not in presets or made[2] not in programs):
                    page.fault(number, f"the build makes no {token}")
                if before == "--preset" and token not in presets:
                    page.fault(number, f"CMakePresets.json has no preset {token}")
                if before in ("-o", ">", ">>") or token.startswith(("build/", "./build/", "/", "-")) or "/" not in token:
                    continue
                if not PATH.fullmatch(token):
                    continue
                local = token.startswith("./") or (root / token.split("/")[0]).exists()
                if (local or token == tokens[0]) and not (root / token).exists():
                    page.fault(number, f"the command names {token}, which does not exist")
            number += count


def joined(lines):
    """Commands with their continuation lines, and how many lines each takes."""
    count, command = 0, ""
    for line in lines:
        count += 1
        if line.endswith("\\"):
            command += line[:-1] + " "
            continue
        yield count, command + line
        count, command = 0, ""
    if command:
        yield count, command


def programs_of(root, page):
    """The translation units of a page: (first line, text)."""
    headers = sorted(path.relative_to(root / "include").as_posix() for path in (root / "include/tilewright").glob("*.hpp"))
    prelude = "".join(f"#include <{header}>\n" for header in headers) + "using namespace tilewright;\n"
    earlier = ""
    for words, first, lines in page.blocks:
        if words[:1] != ["cpp"]:
            continue
        kind = " ".join(words[1:])
        text = "\n".join(lines) + "\n"
        here = f'#line {first} "{page.name}"\n'
        if kind not in ("", "declarations"):
            page.fault(first - 1, f"unknown kind of C++ block: {kind}; tools/check_docs.py lists the kinds")
        elif re.search(r"\bint main\b", text):
            yield first, here + text
        else:
            # Includes move to the front; empty lines stay in their place, so that messages name the page's line.
            includes = "".join(line + "\n" for line in lines if line.lstrip().startswith("#include"))
            body = here + "".join(("" if line.lstrip().startswith("#include") else line) + "\n" for line in lines)
            if kind == "declarations":
                earlier += includes + body
                yield first, prelude + earlier
            else:
                parameters = "const MatrixView& a, const MatrixView& b, const MutableMatrixView& c"
                yield first, prelude + earlier + includes + f"void example({parameters}) {{ {{\n{body}}} }}\n"


def compile_text(root, text):
    command = shlex.split(os.environ.get("CXX", "c++")) + FLAGS
    command += [f"-I{root / 'include'}", f"-I{root}", "-x", "c++", "-"]
    result = subprocess.run(command, input=text, capture_output=True, text=True, cwd=root, check=False)
    return "" if result.returncode == 0 else result.stderr


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()
    readme = root / "README.md"
    if not readme.exists():
        sys.exit(f"documents: {readme} does not exist")
    pages = [Page(root, path) for path in [readme, *sorted(root.glob("docs/**/*.md"))]]
    for page in pages:
        check_paths(root, page)
        check_commands(root, page)
    texts = [(page, first, text) for page in pages for first, text in programs_of(root, page)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for (page, first, _), output in zip(texts, pool.map(lambda one: compile_text(root, one[2]), texts)):
            if output:
                page.fault(first, "this block does not compile:\n    " + "\n    ".join(output.splitlines()[:12]))
    faults = [f"{page.name}:{line}: {text}" for page in pages for line, text in sorted(page.faults)]
    print("\n".join(faults) if faults else f"documents: {len(pages)} pages, {len(texts)} blocks of C++ compile")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
