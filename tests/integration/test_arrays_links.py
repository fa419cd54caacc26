"""Programs of several tracked calls with plain code in between: what stays linked, and what is said of the rest."""

from __future__ import annotations

import dataclasses
import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy import load, savez
from numpy.lib.stride_tricks import sliding_window_view

import whence as wh
from whence.errors import BadType, Redefined

RNG = np.random.default_rng(7)
WEIGHTS = np.array([0.25, 0.5, 0.25])


@pytest.fixture
def log(tmp_path: Path) -> Iterator[wh.Log]:
    with wh.open(tmp_path / "log.whence") as opened:
        yield opened


def sources(log: wh.Log, tracked: Any, cell: tuple[int, ...], output: int = 0) -> dict[str, list[Any]]:
    found = log.backward(tracked.last.outputs[output], [cell])
    return {name: [tuple(each) for each in cells.cells().tolist()] for name, cells in found.items()}


# --- results of calls


def test_what_ran_on_the_dtype_stays_linked(log: wh.Log) -> None:
    smooth = log.track(lambda x: sliding_window_view(x, 3).std(axis=-1), name="smooth")
    total = log.track(lambda x: x.sum(), name="total")
    x = RNG.random(6)
    total(smooth(x)[1:3])
    assert sources(log, total, ()) == {"x": [(n,) for n in range(1, 5)]}


def test_numbers_stay_linked(log: wh.Log) -> None:
    x = RNG.random(5)
    plain, taken = log.track(lambda x: x.mean(), name="plain"), log.track(lambda x: float(x[1:].max()), name="taken")
    centre = log.track(lambda x, m: x - m, name="centre")
    m, t = plain(x), taken(x)
    assert type(m) is np.float64
    assert type(t) is float
    centre(x, m)
    assert sources(log, centre, (0,)) == {"x": [(n,) for n in range(5)]}
    centre(x, t)
    assert sources(log, centre, (0,)) == {"x": [(n,) for n in range(5)]}
    centre(x, float(m))  # another object, of the same value
    assert sources(log, centre, (0,)) == {"x": [(n,) for n in range(5)]}
    assert "assumed to be a copy" in " ".join(log.backward(centre.last.outputs[0], [(0,)]).notes)


def test_numbers_of_before_a_log_was_opened_again_say_where_they_start(tmp_path: Path) -> None:
    x = RNG.random(5)
    with wh.open(tmp_path / "log.whence") as log:
        mean, largest = (
            log.track(lambda a: a.mean(), name="mean")(x),
            log.track(lambda a: float(a.max()), name="max")(x),
        )
    for path in (tmp_path / "log.whence", tmp_path / "other.whence"):
        with wh.open(path) as log:
            scale = log.track(lambda a, by: a * by, name="scale")
            with pytest.warns(wh.UnknownOrigin, match="'by' starts here.*the result of a call in another log"):
                scale(x, mean)
            for array, number in ((x, mean), (x, largest), (x.astype(np.float32), largest)):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", wh.UnknownOrigin)
                    scale(array, number)
                by = scale.last.inputs[1]
                assert sources(log, scale, (2,))[by] == [()]
                said = log.backward(scale.last.outputs[0], [(2,)]).notes
                assert any(note.startswith(f"{by!r} starts at") and "opened again" in note for note in said)
            scale(x, mean)
            assert scale.last.inputs[1] == "by"  # the same number is the same dataset


def test_a_float_beside_narrow_arrays_stays_a_float(log: wh.Log) -> None:
    x = RNG.random(4)
    top = log.track(lambda x: float(x.max()), name="top")(x)
    scaled = log.track(lambda y, by: y * by, name="scaled")
    result = scaled(np.ones(2, np.float32), top)
    assert result.dtype == np.float32
    answer = log.backward("scaled", [(0,)])
    assert answer["x"].count == 4
    assert any("'by'" in note and "not followed" in note for note in answer.notes)


def test_a_number_that_python_computed_may_come_from_every_cell(log: wh.Log) -> None:
    ratio = log.track(lambda x: float(x[0]) / float(x[1]), name="ratio")
    ratio(np.array([1.0, 2.0, 3.0]))
    answer = log.backward("ratio", [()])
    assert answer["x"].count == 3
    assert any("it may come from any cell" in note for note in answer.notes)


@dataclasses.dataclass(frozen=True)
class Fit:
    slope: Any
    parts: dict[str, Any]
    error: float
    label: str = "fit"


def test_results_in_dataclasses_dicts_and_tuples_stay_linked(log: wh.Log) -> None:
    fit = log.track(
        lambda x: (Fit(x.sum(axis=0), {"rows": [x[0] * 2]}, float(x.mean())), None, 3, {"n": 2}), name="fit"
    )
    use = log.track(lambda fit, y: fit.slope + fit.parts["rows"][0] + y, name="use")
    x = RNG.random((2, 3))
    with pytest.warns(wh.LineageLost):
        found, nothing, three, counts = fit(x)
    assert (type(found), nothing, three, counts, found.label) == (Fit, None, 3, {"n": 2}, "fit")
    use(found, x[1])
    assert use.last.inputs == ("fit.0.slope", "fit.0.parts.rows.0", "y")
    assert sources(log, use, (1,)) == {"x": [(0, 1), (1, 1)]}


def test_a_function_that_returns_nothing_is_recorded(log: wh.Log) -> None:
    seen: list[float] = []
    look = log.track(lambda x: seen.append(x.shape[0]), name="look")
    assert look(np.ones(3)) is None
    assert (seen, look.last.inputs, look.last.outputs) == ([3], ("x",), ())


def test_functions_may_probe(log: wh.Log) -> None:
    probing = log.track(lambda x: x if hasattr(x, "toarray") or hasattr(x, "iloc") else x * 2, name="probing")
    assert probing(np.ones(2)).tolist() == [2.0, 2.0]


# --- what plain code does in between


@pytest.mark.parametrize(
    "view",
    [lambda y: y[1:, ::2], lambda y: y.T, lambda y: y.reshape(-1), lambda y: y[:], lambda y: y[::-1, None],
     lambda y: y.reshape(3, 2, 2)[1], lambda y: sliding_window_view(y, 2, axis=0), np.diagonal],
)  # fmt: skip
def test_views_are_followed(log: wh.Log, view: Any) -> None:
    double, same = log.track(lambda a: a * 2, name="double"), log.track(lambda a: a * 1, name="same")
    x = RNG.random((4, 3))
    same(view(double(x)))
    cells = view(np.arange(12).reshape(4, 3))
    for index in np.ndindex(*cells.shape):
        assert sources(log, same, index) == {"a": [divmod(int(cells[index]), 3)]}
    assert all("content" not in note for note in log.backward(same.last.outputs[0], [(0,) * cells.ndim]).notes)


def test_parts_of_an_array_come_from_the_array(log: wh.Log) -> None:
    double, add = log.track(lambda a: a * 2, name="double"), log.track(lambda a, b: a + b, name="add")
    data = RNG.random(10)
    add(double(data[2:6]), double(data[4:8]))
    assert sources(log, add, (0,)) == {"data": [(2,), (4,)]}


def test_an_array_of_which_a_part_was_a_source(log: wh.Log) -> None:
    double = log.track(lambda a: a * 2, name="double")
    rows = [*RNG.random((2, 3))]  # which no variable holds as a whole
    whole = rows[0].base
    assert whole is not None
    del_me = double(rows[1])
    assert sources(log, double, (0,)) in ({"a": [(0,)]}, {"whole": [(1, 0)]})
    double(whole)
    assert del_me.shape == (3,)
    first = log.backward("double", [(2,)])
    assert [(name, cells.cells().tolist()) for name, cells in first.items()] == [("whole", [[1, 2]])]


def test_one_array_twice_is_one_dataset(log: wh.Log) -> None:
    add = log.track(lambda a, b: a + b, name="add")
    x = RNG.random(4)
    add(x, x)
    assert add.last.inputs == ("a", "a")
    add(x[1:], x[:-1])
    assert sources(log, add, (0,)) == {"a": [(0,), (1,)]}


@pytest.mark.parametrize(
    ("made", "truth"),
    [
        (lambda y: y.copy(), lambda c: c),
        (lambda y: y.astype(np.float32), lambda c: c),
        (lambda y: np.ascontiguousarray(y.T), lambda c: c.T),
        (lambda y: np.array(y).reshape(2, 10), lambda c: c.reshape(2, 10)),
        (lambda y: np.concatenate([y[:2].copy(), y, y]), lambda c: np.concatenate([c[:2], c, c])),
        (lambda y: np.sort(y.ravel())[::-1].reshape(5, 4), None),
    ],
)
def test_copies_are_known_by_content_and_say_so(log: wh.Log, made: Any, truth: Any) -> None:
    double, same = log.track(lambda a: a * 2, name="double"), log.track(lambda a: a * 1, name="same")
    y = double(RNG.random((4, 5)))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        same(made(y))
    assert not said
    cells = np.argsort(y.ravel())[::-1].reshape(5, 4) if truth is None else truth(np.arange(20).reshape(4, 5))
    for index in np.ndindex(*cells.shape):
        assert sources(log, same, index) == {"a": [divmod(int(cells[index]), 5)]}
    assert any(
        "because of its content" in note or "because of their values" in note
        for note in log.backward(same.last.outputs[0], [(0, 0)]).notes
    )


def test_joined_arrays_are_known_by_the_content_of_their_pieces(log: wh.Log) -> None:
    double, same = log.track(lambda a: a * 2, name="double"), log.track(lambda a: a * 1, name="same")
    x, y = RNG.random((2, 6)), RNG.random((3, 6))
    u, v = double(x), double(y)
    same(np.concatenate([u, v, u]))
    assert sources(log, same, (4, 1)) == {"a": [], "y": [(2, 1)]}
    assert sources(log, same, (5, 3)) == {"a": [(0, 3)], "y": []}
    same(np.stack([double(row) for row in x], axis=1))
    assert sources(log, same, (3, 1)) == {"a": [(1, 3)]}


def test_content_that_may_be_chance_links_nothing(log: wh.Log) -> None:
    double, same = log.track(lambda a: a * 2, name="double"), log.track(lambda a: a * 1, name="same")
    for x in (np.zeros(100), np.arange(100.0), np.tile([0.0, 1.0], 50), np.array([1.0, 2.0, 4.0])):
        same(double(x) + 0)
        (source,) = sources(log, same, (0,))
        assert source == same.last.inputs[0]


def test_two_arrays_of_one_content_link_nothing_and_that_is_said(log: wh.Log) -> None:
    one, two = log.track(lambda a: a + 0, name="one"), log.track(lambda a: a * 1, name="two")
    x = RNG.random(20)
    kept = [one(x), two(x)]
    with pytest.warns(wh.UnknownOrigin, match=r"may be a copy of any of them"):
        two(kept[0].copy())
    answer = log.backward(two.last.outputs[0], [(0,)])
    assert "may be a copy of any of them" in answer.notes[0]


# --- what nothing is known of


def test_a_new_source_is_said_where_it_starts(log: wh.Log) -> None:
    double = log.track(lambda a: a * 2, name="double")
    x = RNG.random(20)
    y = double(x)
    z = np.sqrt(y)
    with pytest.warns(wh.UnknownOrigin, match=r"'a' \(z\) starts here: how it was made was not recorded") as said:
        double(z)
    line = said[0].lineno
    assert said[0].filename == __file__
    answer = log.backward("double#2", [(3,)])
    assert answer.notes == (f"'z' starts at {Path(__file__).name}:{line}: how it was made was not recorded",)
    assert log.backward("double#2", [(3,)], to="z").notes == answer.notes
    for _ in range(2):
        with warnings.catch_warnings(record=True) as again:
            warnings.simplefilter("always")
            for _ in range(3):
                double(np.exp(y))  # once for each place
        assert len(again) <= 1


def test_first_arrays_are_sources_without_a_warning(log: wh.Log) -> None:
    add = log.track(lambda a, b: a + b, name="add")
    x, y, more = RNG.random(20), RNG.random(20), [RNG.random(20)]
    z = add(x, y)
    add(z, y)
    add(z, more[0])
    add(z, np.zeros(20))
    called, *starts = log.backward("add", [(0,)]).notes
    assert called == "'add' is the array of the first call; that of the latest call is 'add#4'"
    assert len(starts) == 2


def test_a_change_in_place_is_a_new_version(log: wh.Log) -> None:
    double = log.track(lambda a: a * 2, name="double")
    x = RNG.random(5)
    y = double(x)
    y[1] = 3.0
    double(y)
    assert double.last.inputs == ("double@v2",)
    answer = log.backward(double.last.outputs[0], [(0,)])
    assert [*answer] == ["double@v2"]
    assert "is what 'double' became: it was changed in place between calls" in answer.notes[0]
    assert log.backward("double@v1", [(0,)], to="a").cells().tolist() == [[0]]
    assert [*log.backward("double", [(0,)])] == ["double@v2"]  # the latest
    double(y[::-1])  # a view of what it is now
    assert sources(log, double, (0,)) == {"double@v2": [(4,)]}
    assert log.check().ok


def test_a_call_that_writes_a_part_changes_the_whole(log: wh.Log) -> None:
    @log.track
    def clear(a: Any) -> Any:
        a[...] = a[::-1] * 2
        return a.sum()

    double = log.track(lambda a: a * 2, name="double")
    x = RNG.random(6)
    double(x)
    clear(x[:2])
    assert sources(log, clear, (0,), output=1) == {"a@v1": [(1,)]}
    double(x[:2])
    assert sources(log, double, (0,)) == {"a@v1": [(1,)]}
    double(x)
    assert double.last.inputs == ("a@v2",)
    assert [sources(log, double, (n,))["a@v1"] for n in range(3)] == [[(1,)], [(0,)], [(2,)]]
    clear(x[1:3])
    double(x[:2])  # which another call wrote a part of since
    assert [sources(log, double, (n,))["a@v1"] for n in range(2)] == [[(1,)], [(2,)]]


def test_names_are_those_of_variables_once_labels_are_taken(log: wh.Log) -> None:
    double = log.track(lambda a: a * 2, name="double")
    raw, other = RNG.random(20), RNG.random(20)
    first = double(raw)
    second = double(other)
    third = double(other[:3])
    assert [each.name for each in log.datasets()] == ["a", "double", "other", "double#2", "a#2", "double#3"]
    assert first.shape == second.shape != third.shape
    assert [*log.backward("second", [(0,)])] == ["other"]
    assert log.backward("first", [(0,)], to="a").cells().tolist() == [[0]]


def test_cells_that_values_only_decided_say_so(log: wh.Log) -> None:
    x = RNG.random(5)
    order = log.track(lambda x: np.argsort(x), name="order")
    order(x)
    answer = log.backward("order", [(0,)])
    assert "'order' holds no value of the inputs" in answer.notes[0]
    assert "lineage='value+selection'" in answer.notes[0]
    clipped = log.track(lambda x: np.where(x > 0.5, 0.0, x), name="clipped", lineage="value+selection")
    clipped(x)
    high = int(np.argmax(x))
    assert log.backward("clipped", [(high,)], to="x", lineage="value").count == 0
    said = log.backward("clipped", [(high,)], to="x", lineage="value").notes
    assert any("lineage='value+selection' adds them" in note for note in said)
    part = log.track(lambda x: np.where(x > 0.5, 0.0, x), name="part")
    part(x)
    assert any("hold no value of what it came from" in note for note in log.backward("part", [(high,)]).notes)


# --- versions


def test_a_name_that_is_given_again_is_a_new_version(log: wh.Log) -> None:
    x = RNG.random((3, 2))
    log.track(lambda X: X.sum(axis=1), name="f", names={"X": "A", "return": "B"})(x)
    edited = log.track(lambda X: X[:, 0] * 2, name="f", names={"X": "A", "return": "B"})
    edited(x)
    assert (edited.last.inputs, edited.last.outputs) == (("A",), ("B@v2",))
    assert log.backward("B", [(1,)], to="A").cells().tolist() == [[1, 0]]  # no union of old and new
    assert log.backward("B@v1", [(1,)], to="A").cells().tolist() == [[1, 0], [1, 1]]
    assert {*log.forward("A", [(1, 1)])} == {"B@v1", "B@v2"}
    assert log.show("B").dataset.name == "B@v2"
    assert log.query(["B", "A"], [(1,)]).cells().tolist() == [[1, 0]]
    edited(x * 2)
    assert (edited.last.inputs, edited.last.outputs) == (("A@v2",), ("B@v3",))
    assert log.query(["B@v1", "A"], [(1,)]).cells().tolist() == [[1, 0], [1, 1]]
    assert log.backward("B@v1", [(1,)], to="A").cells().tolist() == [[1, 0], [1, 1]]  # the version that it came from
    assert log.graph.versions("B") == ["B@v2", "B@v3"]
    assert log.graph.ancestors("B@v3")[0] in ("A@v2", "A")
    with pytest.raises(BadType, match="numbers itself"):
        log.track(np.negative, names={"return": "B@v7"})(x)


def test_another_shape_is_another_version_unless_the_array_was_defined(log: wh.Log) -> None:
    head = log.track(lambda x, n: x[:n] * 1, name="head", names={"return": "H"})
    head(RNG.random(5), 2)
    head(RNG.random(5), 3)
    assert [each.shape for each in log.datasets() if each.name.startswith("H")] == [(2,), (3,)]
    log.array("D", np.ones((2, 2)))
    with pytest.raises(Redefined, match=r"'D' is already an array of shape \(2, 2\), not \(5,\)"):
        log.track(np.negative, names={"return": "D"})(RNG.random(5))


def test_lineage_twice_for_one_version_is_a_union(log: wh.Log) -> None:
    log.array("A", 4)
    log.array("B", np.zeros(4))
    log.lineage("B", "A", "identity")
    log.lineage("B", "A", lambda index: [(0,)])
    assert log.backward("B", -1, to="A").cells().tolist() == [[0], [3]]


def test_another_program_finds_the_same_input_and_makes_another_version(tmp_path: Path) -> None:
    for _ in range(2):
        with wh.open(tmp_path / "log") as log, log.capture("step") as capture:
            capture.write("B", capture.read("A", np.array([1.0, 5.0, 2.0])) * 2)
    with wh.open(tmp_path / "log") as log:
        assert sorted(each.name for each in log.datasets()) == ["A", "B", "B@v2"]


# --- what else is handed over


def test_tables_and_lists_are_inputs_that_may_go_in_as_a_whole(log: wh.Log) -> None:
    frame = pd.DataFrame({"u": RNG.random(20), "v": RNG.random(20), "t": ["x"] * 20})
    column = log.track(lambda df, by, xs: df["u"].to_numpy() * by[0] + xs[0], name="column")
    column(frame, [0.5, 0.25], frame["v"])
    answer = log.backward("column", [(0,)])
    assert {name: cells.count for name, cells in answer.items()} == {"df": 60, "by": 2, "xs": 20}
    assert any("not followed" in note for note in answer.notes)
    log.track(lambda a: a * 2, name="double")(frame[["v", "u"]].to_numpy())
    assert log.backward("double", [(3, 1)], to="df").cells().tolist() == [[3, 0]]


def test_globals_are_inputs(log: wh.Log) -> None:
    def helper(x: Any) -> Any:
        return np.convolve(x, WEIGHTS, "valid")

    log.track(lambda x: helper(x), name="smooth")(RNG.random(6))
    answer = log.backward("smooth", [(0,)])
    assert {name: cells.count for name, cells in answer.items()} == {"x": 3, "WEIGHTS": 3}


# --- files


def test_files_are_linked_to_arrays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("in.npy", RNG.random((5, 3)))
    pd.DataFrame({"u": RNG.random(30), "t": ["x"] * 30}).to_csv("table.csv", index=False)
    load = np.load
    with wh.open("log.whence") as log:
        rows = log.track(lambda x: x.sum(axis=1), name="rows", names={"return": "y"})
        with log.activity("clean") as activity:
            np.save("out.npy", rows(np.load("in.npy")))
            double = log.track(lambda x: x * 2, name="double")
            np.savetxt("out.txt", double(pd.read_csv("table.csv")["u"].to_numpy()))
        assert np.load is load
        assert activity.inputs == {"in.npy": "in.npy@v1", "table.csv": "table.csv@v1"}
        assert [*activity.outputs] == ["out.npy", "out.txt"]
        assert [*log.backward("y", [(2,)])] == ["in", "in.npy@v1"]
        assert [*log.backward("out.txt", "()")][-1] == "table.csv@v1"
        assert {"in.npy@v1", "in", "y"} <= {*log.graph.segment("in.npy", "y").vertices}
        with log.capture("block") as capture:
            capture.write("B", capture.read("A", np.load("out.npy")) * 2)
        answer = log.backward("B", [(0,)])
        assert {name: cells.count for name, cells in answer.items()} == {"in": 3, "in.npy@v1": 1}
        assert answer.precise, "the array that was saved is the one that was loaded"
        assert log.check().ok


def test_what_one_program_saves_and_another_loads_is_followed_by_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"u": RNG.random(4), "t": ["a", "b", None, "d"]})
    x = RNG.random((4, 3))
    with wh.open("log.whence") as log, log.capture():
        doubled = log.track(lambda x: x * 2, name="double")(x)
        np.save("doubled.npy", doubled)
        np.savez("both.npz", doubled=doubled, again=doubled[:2])
        np.save("edited.npy", doubled)
        log.tables.filter_rows(frame, [True, True, False, True], names={"table": "frame", "return": "some"})
        frame[[True, True, False, True]].to_parquet("other.parquet")
        frame.to_parquet("frame.parquet")
    np.save("edited.npy", doubled + 1)  # by nobody that the log knows
    with wh.open("log.whence") as log:
        with log.capture():
            log.track(lambda x: x.sum(axis=0), name="total")(np.load("doubled.npy"))
            log.track(lambda x: x[::-1], name="part")(np.load("both.npz")["again"])
            log.track(lambda x: -x, name="edit")(np.load("edited.npy"))
            log.tables.filter_rows(pd.read_parquet("frame.parquet"), [False, True] * 2, names={"return": "kept"})
        for name, cell, wanted in (("total", (1,), [[n, 1] for n in range(4)]), ("part", (0, 2), [[1, 2]])):
            answer = log.backward(name, [cell])
            assert answer["x"].cells().tolist() == wanted
            assert answer.precise, answer.reason
        assert log.backward("kept", [(1, 0)])["frame"].cells().tolist() == [[3, 0]]
        assert "x" not in log.backward("edit", [(0, 0)]).reached
        forward = log.forward("x", [(1, 1)])
        assert {"total", "part", "doubled.npy@v1", "both.npz@v1"} <= {*forward.reached}
        assert forward["total"].cells().tolist() == [[1]]
        assert log.check().ok


def test_what_users_note_about_a_save_is_not_taken_for_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with wh.open("log.whence") as log:
        x = RNG.random(3)
        np.save("x.npy", x)
        with log.activity("made by hand", saved_datasets="all of them") as activity:
            activity.generated("x.npy")
        with log.capture():
            log.track(lambda a: a + 1, name="more")(np.load("x.npy"))
        assert [*log.backward("more", [(0,)])] == ["x", "x.npy@v1"]


def test_columns_of_a_frame_are_known_in_a_program_without_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However few and plain the numbers are: nothing is recognised by its content."""
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"id": [17, 18], "age": [31.0, 45.0], "spent": [7.0, 7.0]}).to_csv("customers.csv", index=False)
    with wh.open("log.whence") as log:
        with log.capture():
            frame: Any = pd.read_csv("customers.csv")
            X = frame[["age", "spent"]].to_numpy()
            log.track(lambda x: x.sum(axis=1), name="both")(X)
        answer = log.backward("both", [(1,)])
        assert answer["customers"].cells().tolist() == [[1, 1], [1, 2]]
        assert answer.precise, answer.reason
        assert pd.DataFrame.to_numpy.__module__ == "pandas.core.frame"


def test_archives_and_functions_that_were_imported_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    savez("in.npz", a=RNG.random(20), b=RNG.random((20, 2)))
    with wh.open("log.whence") as log:
        scaled = log.track(lambda a, b: a[:, None] * b, name="scaled")
        with log.activity("scale") as activity:
            archive = load("in.npz")
            result = scaled(archive["a"], archive["b"])
            assert archive["a"].shape == (20,)  # read once more, recorded once
            savez("out", result, some=result[:5])
        assert load is np.load
        assert activity.inputs == {"in.npz": "in.npz@v1"}
        assert [*activity.outputs] == ["out.npz"]
        assert scaled.last.inputs == ("in.a", "in.b")
        assert {*log.backward("scaled", [(2, 0)])} == {"in.a", "in.b", "in.npz@v1"}
        assert {"in.npz@v1", "in.a", "in.b", "scaled", "out.npz@v1"} <= {
            *log.graph.segment("in.npz", "out.npz").vertices
        }
        loads = [each for each in log.operations() if each.name == "np.load"]
        assert len(loads) == 2
        assert all(each.properties["script"] == "test_arrays_links.py" for each in loads)
        assert log.check().ok


def test_operations_say_where_they_were_called(tmp_path: Path) -> None:
    with wh.open(tmp_path / "log") as log:
        double = log.track(lambda a: a * 2, name="double")
        double(RNG.random(3))
        double(RNG.random(3))  # reused
        places = [each.cells()[2] for each in log.operations()]
    assert [each.partition(":")[0] for each in places] == ["test_arrays_links.py"] * 2
    assert len({*places}) == 2


PROGRAM = """
import numpy as np, whence as wh
with wh.open("log.whence") as log:
    double = log.track(lambda x: x * 2, name="double", names={"return": "y"})
    np.save("out.npy", double(np.load("in.npy")))
"""


def test_a_program_under_whence_run_links_its_files(tmp_path: Path) -> None:
    np.save(tmp_path / "in.npy", RNG.random(4))
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [
        str(Path(sys.executable).with_name("whence")),
        "run",
        "--log",
        "log.whence",
        "--",
        sys.executable,
        "program.py",
    ]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    with wh.open(tmp_path / "log.whence") as log:
        assert {"in.npy@v1", "in", "y"} <= {*log.graph.segment("in.npy", "y").vertices}
        assert [*log.backward("out.npy", "()")] == ["in", "in.npy@v1"]


# --- other processes


def test_tracked_functions_can_be_pickled(tmp_path: Path) -> None:
    (tmp_path / "steps.py").write_text(
        f"import whence as wh\nlog = wh.open({str(tmp_path / 'log')!r})\n"
        "@log.track(names={'return': 'B'})\ndef double(x):\n    return x * 2\n"
    )
    code = (
        "import pickle, steps, numpy as np, multiprocessing as mp\n"
        "if __name__ == '__main__':\n"
        "    assert pickle.loads(pickle.dumps(steps.double)) is steps.double\n"
        "    with mp.get_context('spawn').Pool(1) as pool: print(pool.map(steps.double, [np.ones(2)])[0])\n"
    )
    (tmp_path / "main.py").write_text(code)
    done = subprocess.run([sys.executable, "main.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "[2. 2.]\n"
    with wh.open(tmp_path / "log") as log:
        assert [each.name for each in log.operations()] == ["double"]
        with pytest.raises(BadType, match="cannot be imported by its name"):
            pickle.dumps(log.track(lambda a: a, name="same"))


PARALLEL = """
import sys
import numpy as np, whence as wh
from joblib import Parallel, delayed

log = wh.open("log")

@log.track
def smooth(x):
    return (x[1:] + x[:-1]) / 2

if __name__ == "__main__":
    data = [np.random.default_rng(n).random(20 + n) for n in range(4)]
    for found, each in zip(Parallel(n_jobs=2)(delayed(smooth)(each) for each in data), data):
        assert np.array_equal(found, (each[1:] + each[:-1]) / 2)
    assert len(log.operations()) == 4
    Parallel(n_jobs=2, prefer="threads")(delayed(smooth)(each) for each in data)
    assert len(log.operations()) == 8
    assert all(len(log.backward(each.outputs[0], [(3,)], to=each.inputs[0])) == 2 for each in log.operations())
    assert log.check().ok
"""


def test_joblib_calls_tracked_functions_in_processes_and_threads(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PARALLEL)
    done = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_thousand_calls_are_few_files(tmp_path: Path) -> None:
    with wh.open(tmp_path / "log") as log:
        smooth = log.track(lambda a: (a[1:] + a[:-1]) / 2, name="smooth")
        data = RNG.random(400)
        for n in range(120):
            smooth(data[n : n + 20 + n % 7])
        assert log.backward(smooth.last.outputs[0], [(2,)], to="data").cells().tolist() == [[121], [122]]
        assert sum(len(files) for _, _, files in os.walk(tmp_path)) < 10
        assert log.check().ok


class Model:
    """A fitted model, as people write them."""

    def __init__(self) -> None:
        self.weights = np.arange(6.0).reshape(3, 2)
        self.part = Part()
        self.unused = np.ones(4)

    def predict(self, x: Any) -> Any:
        return x @ self.weights + self.part.bias


class Part:
    def __init__(self) -> None:
        self.bias = np.array([0.5, 1.5])


def test_attributes_are_inputs_and_that_is_said(tmp_path: Path) -> None:
    with wh.open(tmp_path / "log.whence") as log:
        model = Model()
        log.track(model.predict, name="bound")(np.ones((4, 3)))
        log.track(Model.predict, name="unbound")(model, np.ones((4, 3)))
        log.track(lambda x: model.predict(x) * model.weights[0], name="around")(np.ones((4, 3)))
        for name, owner in (("bound", "self"), ("unbound", "self")):
            answer = log.backward(name, (1, 0))
            assert {each.rpartition("#")[0] or each for each in answer} >= {"x"}
            assert any(f"'{owner}.weights'" in each and f"'{owner}.part.bias'" in each for each in answer.notes)
            assert not any("unused" in each for each in answer)
        assert any("'model.weights'" in each for each in log.backward("around", (1, 0)).notes)
