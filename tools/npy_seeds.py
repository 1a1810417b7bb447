#!/usr/bin/env python3
"""Writes seeds for fuzzing the .npy reader: small files that are right, in every format, order and element type, and some
that are wrong in one place each. As tests/fuzz/npy_fuzz.cpp asks, a first byte says what follows: 0 or 1 (two-byte void is
bf16), a whole file; 2 or 128, the header's text alone, for version 1 or 2. Usage: tools/npy_seeds.py FOLDER
"""

import pathlib
import struct
import sys

SIZES = {"<f2": 2, ">f2": 2, "<f4": 4, ">f4": 4, "<f8": 8, ">f8": 8, "<V2": 2, "|V2": 2, "<i4": 4, "|u1": 1}


def npy(header, data, version=1, declared=None):
    """A file with this header text, padded to 64 bytes as NumPy does."""
    prefix = 10 if version == 1 else 12
    text = header.encode("latin1")
    text += b" " * (-(prefix + len(text) + 1) % 64) + b"\n"
    length = len(text) if declared is None else declared
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", length) + text + data


def header(descr="<f2", order="False", shape="(2, 3)"):
    return f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}"


def files():
    data = bytes(range(48))
    for descr, size in SIZES.items():
        for order in ("False", "True"):
            yield npy(header(descr, order), data[: 6 * size])
    for version in (1, 2, 3, 9):
        yield npy(header(), data[:12], version)
    for shape in ("()", "(6,)", "(0, 3)", "(2, 3, 1)", "(-2, 3)", "(4294967296, 4294967296)", "(9223372036854775807, 1)"):
        yield npy(header(shape=shape), data[:12])
    for text in TEXTS:
        yield npy(text, data[:12])
    yield npy(header(), data[:11])
    yield npy(header(), data[:13])
    for declared in (0, 1, 65535):
        yield npy(header(), data[:12], 1, declared)
    yield npy(header(), data[:12], 2, 2**32 - 1)
    yield b"\x93NUMPY"
    yield b""


TEXTS = ("{}", "", "{'descr': '<f2'}", header(), header() + "x", header().replace("'", '"'), header() + " " * 5000)


def seeds():
    for mode in (b"\0", b"\1"):
        for file in files():
            yield mode + file
    for mode in (b"\2", b"\x80"):
        for text in TEXTS:
            yield mode + text.encode("latin1")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    for number, content in enumerate(seeds()):
        (folder / f"seed-{number:03}").write_bytes(content)


if __name__ == "__main__":
    main()
