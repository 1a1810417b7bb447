#!/usr/bin/env python3
"""Makes examples/digits/digits.npy and labels.txt from the table that Debian's python3-sklearn ships.

The data are small integers, 0 to 16, so FP16 holds them exactly. Needed only to make the files again: they are part of the
repository. Usage: tools/make_digits.py [digits.csv.gz]
"""

import gzip
import pathlib
import sys

import numpy

TABLE = "/usr/lib/python3/dist-packages/sklearn/datasets/data/digits.csv.gz"
FOLDER = pathlib.Path(__file__).resolve().parent.parent / "examples" / "digits"


def main():
    source = sys.argv[1] if len(sys.argv) > 1 else TABLE
    if not pathlib.Path(source).exists():
        sys.exit(f"make_digits: {source} does not exist: install Debian's python3-sklearn, or name the file.")
    with gzip.open(source, "rt") as text:
        table = numpy.loadtxt(text, delimiter=",")  # (1797, 65): 8 x 8 pixels row by row, then the digit
    if table.shape != (1797, 65) or table.min() < 0 or table.max() > 16 or (table != table.round()).any():
        sys.exit(f"make_digits: {source} is not the table of 1797 rows of 64 integers 0..16 and a digit.")
    numpy.save(FOLDER / "digits.npy", numpy.ascontiguousarray(table[:, :64], dtype="<f2"))
    (FOLDER / "labels.txt").write_text("".join(f"{int(digit)}\n" for digit in table[:, 64]), encoding="ascii")
    print(f"wrote digits.npy and labels.txt in {FOLDER}")


if __name__ == "__main__":
    main()
