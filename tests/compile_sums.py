"""Compile the kernels of kernel sums for an H200, which need not be there.

``python -m tests.compile_sums`` prints the shared memory that they take at several sizes, in bytes.
"""

import sys

HALVES = {"high", "low", "points", "points_low", "table", "table_low"}
FLOATS = {"X", "center", "lengths", "own", "back", "constant", "out"}
NUMBERS = {"scale", "shrink", "far", "size"}


def kind_of(name, constants):
    if name in constants:
        return "constexpr"
    if name in NUMBERS:
        return "fp32"
    return "*fp16" if name in HALVES else "*fp32" if name in FLOATS else "i32"


def shared_memory(kernel, warps, stages, **constants):
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    names = kernel.arg_names
    signature = {name: kind_of(name, constants) for name in names}
    given = {name: value for name, value in constants.items() if name in names}
    aligned = {
        (i,): [["tt.divisibility", 16]]
        for i, name in enumerate(names)
        if signature[name].startswith("*")
    }
    made = triton.compile(
        ASTSource(kernel, signature, given, aligned),
        target=GPUTarget("cuda", 90, 32),
        options={"num_warps": warps, "num_stages": stages},
    )
    return made.metadata.shared


def main():
    from nearkin.spaces import triton_sums

    for columns, width in ((16, 16), (64, 64), (384, 64)):
        part, warps = min(columns, triton_sums._PART), triton_sums._WARPS
        stages = triton_sums._STAGES if part == columns else triton_sums._STAGES_OF_WIDE
        sizes = {"ROWS": triton_sums._ROWS, "COLUMNS": columns, "PART": part}
        taken = shared_memory(triton_sums._split_rows, warps, 2, **sizes)
        sizes |= {"TILE": triton_sums._TILE, "WIDTH": width, "BREADTH": width}
        taken = max(taken, shared_memory(triton_sums._add_up, warps, stages, **sizes))
        sys.stdout.write(f"{taken}\n")


if __name__ == "__main__":
    main()
