"""
ONNX: a learned metric in JavaScript
====================================

How does a page in a browser get the distances that Python has learned?

``nk.onnx_file.export`` writes ``transform`` of any learner to an ONNX file. ONNX Runtime reads it
in many languages, JavaScript among them.
"""

import json
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnxruntime

import nearkin as nk

folder = TemporaryDirectory()
model, rows = Path(folder.name, "metric.onnx"), Path(folder.name, "rows.json")

X, y = nk.datasets.make_xor(300, random_state=0)
pairs = nk.Pairs.from_labels(y, 50, random_state=0)
metric = nk.KernelBeta(n_components=2, random_state=0).fit(X, pairs=pairs)
nk.onnx_file.export(metric, model)
print(f"{model.stat().st_size / 1000:.0f} kB")

# %%
# The program in JavaScript, for Node.js. In a page it is the same, but for how files are read.

PROGRAM = """
import * as ort from "onnxruntime-web";
import { readFileSync } from "node:fs";

const [model, file] = process.argv.slice(1);
const rows = JSON.parse(readFileSync(file, "utf8"));
const session = await ort.InferenceSession.create(readFileSync(model));
const input = new ort.Tensor("float32", rows.flat(), [rows.length, rows[0].length]);
const { Z } = await session.run({ X: input });
console.log(JSON.stringify({ shape: Z.dims, values: Array.from(Z.data) }));
"""
X_new, y_new = nk.datasets.make_xor(100, random_state=1)
rows.write_text(json.dumps(X_new.tolist()))

# %%
# If Node.js and the package are there (``npm install onnxruntime-web``), it runs. Otherwise the
# runtime for Python reads the same file, to the same effect.


def by_javascript():
    """New rows through the file in JavaScript, or None where that cannot run."""
    node = shutil.which("node")
    if node is None:
        return None
    command = [node, "--input-type=module", "--eval", PROGRAM, model, rows]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return None
    found = json.loads(done.stdout.splitlines()[-1])
    return np.reshape(found["values"], found["shape"])


def by_python():
    """New rows through the file in Python."""
    session = onnxruntime.InferenceSession(model)
    return session.run(["Z"], {"X": X_new.astype(np.float32)})[0]


Z = by_javascript()
name = "ONNX in Python" if Z is None else "ONNX in JavaScript"
Z = by_python() if Z is None else Z

# %%
# New rows by the library, and through the file:

expected = metric.transform(X_new)
assert np.allclose(Z, expected, atol=1e-4)
axes = nk.plot.side_by_side({"rows": X_new, "nearkin": expected, name: Z}, y_new)
folder.cleanup()
