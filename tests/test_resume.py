import json

from benchmarks.record import origin, stored
from benchmarks.resume import Job, complete, forget, undone


def jobs_of(done, seeds):
    def measured(seed):
        done.append(seed)
        return [{"method": method, "J": seed + 0.5} for method in ("ours", "theirs")]

    return [Job({"data": "xor", "seed": seed}, measured, (seed,)) for seed in seeds]


def test_what_is_stored_is_not_measured_again(tmp_path):
    path, done = tmp_path / "results.jsonl", []
    complete(path, jobs_of(done, range(2)))
    complete(path, jobs_of(done, range(3)))
    assert done == [0, 1, 2]
    source, rows = stored(path)
    assert [(row["seed"], row["method"]) for row in rows] == [
        (seed, method) for seed in range(3) for method in ("ours", "theirs")
    ]
    assert "earlier" not in source  # both runs are of one commit
    forget(path, seed=1)
    assert [job.names["seed"] for job in undone(path, jobs_of(done, range(4)))] == [1, 3]


def test_a_run_that_was_stopped_while_it_wrote_goes_on(tmp_path):
    path, done = tmp_path / "results.jsonl", []
    complete(path, jobs_of(done, range(2)))
    path.write_text(path.read_text()[:-5])
    complete(path, jobs_of(done, range(2)))
    assert done == [0, 1, 1]
    assert [row["seed"] for row in stored(path)[1]] == [0, 0, 1, 1]


def test_runs_of_several_commits_are_all_named(tmp_path):
    path = tmp_path / "results.jsonl"
    complete(path, jobs_of([], [0]))
    first, *rest = path.read_text().splitlines()
    old = json.loads(first)
    old["provenance"]["commit"] = "0123456789abcdef"
    path.write_text("\n".join([json.dumps(old), *rest]) + "\n")
    complete(path, jobs_of([], [0, 1]))
    source, rows = stored(path)
    assert source["earlier"] == ["0123456789abcdef"]
    assert ", 0123456789ab;" in origin(source)
    assert len(rows) == 4
