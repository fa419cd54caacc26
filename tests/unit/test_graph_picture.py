"""Pictures: PROV's shapes, no node upon another, every edge there, much collapsed into counts that add up."""

from __future__ import annotations

import html
import io
import re
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from PIL import Image

import whence as wh
from whence.cli._output import emit_table
from whence.errors import BadType, StoreError
from whence.graph import Graph, Segment, Summary
from whence.graph.picture import scene, style
from whence.graph.picture.layout import lay_out, ranks_of
from whence.graph.picture.nodes import Line, Node, Scene
from whence.testing.graphs import lifecycle
from whence.testing.graphs.strategies import Drawn, provenance

SVG = "{http://www.w3.org/2000/svg}"
SHAPES = {"entity": "rect", "activity": "rect", "agent": "polygon"}
ASIDE = ["wasAttributedTo", "wasDerivedFrom"]


@pytest.fixture
def segment() -> Segment:
    return lifecycle().segment("dataset-v1", "weight-v2", exclude=ASIDE)


@pytest.fixture
def summary() -> Summary:
    graph = lifecycle()
    parts = [graph.segment("dataset-v1", end, exclude=ASIDE, expand={end: 2}) for end in ("weight-v2", "log-v3")]
    return wh.summarize(parts, keep={"entity": ["filename"], "activity": ["command"]}, k=1)


def groups(svg: str, name: str) -> list[ET.Element]:
    return [each for each in ET.fromstring(svg).iter(f"{SVG}g") if each.get("class") == name]


def test_each_kind_has_its_shape_and_colour(segment: Segment) -> None:
    svg = segment.to_svg()
    for kind in ("entity", "activity"):
        found = groups(svg, kind)
        assert len(found) == sum(segment.graph[name].kind == kind for name in segment)
        assert all(each.find(f"{SVG}{SHAPES[kind]}") is not None for each in found)
    for kind in ("entity", "activity"):  # data have round ends
        shape = groups(svg, kind)[0].find(f"{SVG}rect")
        assert shape is not None
        assert shape.get("fill") == style.FILL[kind]  # type: ignore[index]  # a kind
        assert (2 * float(shape.get("rx", "0")) == float(shape.get("height", "0"))) == (kind == "entity")
    drawn = sum(len(groups(svg, relation)) for relation in ("used", "wasGeneratedBy"))
    assert drawn == sum(relation != "wasAssociatedWith" for _, relation, _ in segment.edges)


def test_agents_are_named_by_their_activities(segment: Segment) -> None:
    assert groups(segment.to_svg(), "agent") == []
    [activity] = groups(segment.to_svg(), "activity")
    assert [each.text for each in activity.iter(f"{SVG}text")][1:] == ["Alice"]
    alone = Graph.build([("ada", "agent"), ("bob", "agent")], [("ada", "actedOnBehalfOf", "bob")])
    assert [each.find(f"{SVG}polygon") is not None for each in groups(alone.to_svg(), "agent")] == [True, True]


def sweep(count: int, *, chained: bool = False) -> Graph:
    """Runs of one program, each with a parameter of its own; with `chained`, each goes on from the one before."""
    vertices: list[tuple[str, str, dict[str, object]]] = [("data.csv@v1", "entity", {"artifact": "data.csv"})]
    edges = []
    for run in range(1, count + 1):
        command = f"python train.py --data data.csv --rate 0.{run:03} --out models/model.bin"
        told: dict[str, object] = {"command": command}
        vertices += [(f"train.py#{run}", "activity", told | ({"exit_code": 1} if run == 2 else {})),
                     (f"models/model.bin@v{run}", "entity", {"artifact": "models/model.bin"})]  # fmt: skip
        edges += [(f"train.py#{run}", "used", "data.csv@v1"),
                  (f"models/model.bin@v{run}", "wasGeneratedBy", f"train.py#{run}")]  # fmt: skip
        if chained and run > 1:
            edges.append((f"train.py#{run}", "used", f"models/model.bin@v{run - 1}"))
    return Graph.build(vertices, edges)


def test_labels_keep_what_differs_and_the_number_of_the_run() -> None:
    nodes = [node for node in scene.scene_of(sweep(3)).nodes if node.kind == "activity"]
    assert [node.label for node in nodes] == [f"train.py --rate 0.{run:03}" for run in (1, 2, 3)]
    assert [node.note for node in nodes] == ["#1", "#2 · failed", "#3"]
    assert [node.failed for node in nodes] == [False, True, False]


def test_the_only_run_of_a_program_names_no_file_that_is_drawn_beside_it() -> None:
    [node] = [node for node in scene.scene_of(sweep(1)).nodes if node.kind == "activity"]
    assert node.label == "train.py --rate 0.001"


def test_what_failed_looks_failed_in_text_too() -> None:
    dot, mermaid = sweep(3).to_dot(), sweep(3).to_mermaid()
    assert [line.count("dashed") for line in dot.splitlines() if "train.py" in line and "label" in line] == [0, 1, 0]
    assert "ellipse: data (files, tables, arrays)   box: activities (programs, functions)   dashed: failed" in dot
    assert "dashed" not in sweep(1).to_dot()
    assert mermaid.count(":::failed") == 1
    assert "classDef failed" in mermaid


def test_labels_beside_lines_have_room_between_the_ranks() -> None:
    for label in ("", "123,456,789"):
        nodes = (Node("entity", "a", "a"), Node("activity", "b", "b"))
        _, layout = scene.laid_out(Scene(nodes, (Line(1, 0, "used", 0.0, label),)))
        gap = layout.centres[1][0] - layout.centres[0][0] - sum(size[0] for size in layout.sizes) / 2
        assert gap >= max(30, 6 * len(label))
        assert gap <= 120


def test_what_failed_looks_failed() -> None:
    [first, second, _] = groups(sweep(3).to_svg(), "activity")
    rects = [each.find(f"{SVG}rect") for each in (first, second)]
    assert [rect is not None and rect.get("stroke-dasharray") is not None for rect in rects] == [False, True]
    assert ">failed</text>" in sweep(3).to_svg()
    assert ">failed</text>" not in sweep(1).to_svg()


@pytest.mark.parametrize("chained", [False, True])
def test_what_does_not_fit_the_page_is_folded_and_counted(chained: bool) -> None:
    graph = sweep(77, chained=chained)
    found, layout = scene.placed(graph)
    assert layout.width <= scene.PAGE[0]
    assert len(found.nodes) <= 8
    assert sorted(each for node in found.nodes for each in node.ids) == sorted(graph.vertices)
    assert sum(node.stands_for for node in found.nodes) == len(graph)
    [failed] = [node for node in found.nodes if node.failed]
    assert failed.ids == ("train.py#2",)


def test_time_runs_from_left_to_right() -> None:
    found, layout = scene.placed(sweep(3, chained=True))
    for line in found.lines:
        assert layout.centres[line.source][0] > layout.centres[line.target][0]


def test_steps_of_one_program_stay_apart_so_that_time_still_runs_to_the_right() -> None:
    """A program that runs twice, first to prepare and then to score, in a picture that is too wide for the page."""
    names = [f"a file with quite a long name, number {number:02}" for number in range(24)]
    vertices: list[tuple[str, str, dict[str, object]]] = [(name, "entity", {}) for name in ("raw", "features", *names)]
    vertices += [
        ("p.py#1", "activity", {"command": "python p.py prepare"}),
        ("p.py#2", "activity", {"command": "python p.py score"}),
    ]
    vertices += [(f"step#{number + 3}", "activity", {"command": f"step{number}"}) for number in range(len(names) - 1)]
    edges = [
        ("p.py#1", "used", "raw"),
        ("features", "wasGeneratedBy", "p.py#1"),
        ("p.py#2", "used", "features"),
        (names[0], "wasGeneratedBy", "p.py#2"),
    ]
    for number in range(len(names) - 1):
        edges += [
            (f"step#{number + 3}", "used", names[number]),
            (names[number + 1], "wasGeneratedBy", f"step#{number + 3}"),
        ]
    found, layout = scene.placed(Graph.build(vertices, edges).induced([*(name for name, *_ in vertices)]))
    labels = [node.label for node in found.nodes]
    assert [label for label in labels if label.startswith("p.py")] == ["p.py prepare", "p.py score"], labels
    place = {each: at for at, node in enumerate(found.nodes) for each in node.ids}
    order = [layout.centres[place[name]][0] for name in ("raw", "p.py#1", "features", "p.py#2", names[0])]
    assert order == sorted(order)


def test_arrows_show_which_way_data_went(segment: Segment) -> None:
    for relation in ("used", "wasGeneratedBy"):
        paths = [each.find(f"{SVG}path") for each in groups(segment.to_svg(), relation)]
        assert paths
        assert all(path is not None and path.get("marker-start") and not path.get("marker-end") for path in paths)


def test_what_was_asked_about_has_a_thick_border(segment: Segment) -> None:
    thick = [
        each.findtext(f"{SVG}text")
        for each in groups(segment.to_svg(), "entity")
        if (shape := each.find(f"{SVG}rect")) is not None and shape.get("stroke-width") == "3"
    ]
    assert sorted(map(str, thick)) == ["dataset-v1", "weight-v2"]


def test_edges_are_as_wide_as_they_are_frequent(summary: Summary) -> None:
    widths: dict[str, set[str | None]] = {}
    for each in groups(summary.to_svg(), "used"):
        path = each.find(f"{SVG}path")
        assert path is not None
        widths.setdefault(str(each.findtext(f"{SVG}text")), set()).add(path.get("stroke-width"))
    assert widths == {"50%": {"2.6"}, "100%": {"4.0"}}


def read_dot(text: str) -> list[dict[str, str]]:
    """The attributes of the nodes and edges of a digraph, by the grammar of DOT; anything else is an error.

    In a quoted string, Graphviz takes a backslash with what follows as one, so that only an unescaped quote ends it.
    """
    token = re.compile(
        r'\s*(?:(?P<string>"(?:[^"\\]|\\.)*")|(?P<word>[A-Za-z0-9_.]+)|(?P<sign>->|[\[\]{}=,;]))', re.DOTALL
    )
    place, tokens = 0, []
    while text[place:].strip():
        found = token.match(text, place)
        assert found, f"no token of DOT: {text[place : place + 40]!r}"
        tokens.append(found[0].strip())
        place = found.end()
    assert tokens[:3] == ["digraph", "whence", "{"]
    assert tokens[-1] == "}"
    statements: list[list[str]] = [[]]
    for each in tokens[3:-1]:
        if each == ";":
            statements.append([])
        else:
            statements[-1].append(each)
    result = []
    for statement in statements:
        if len(statement) < 2 or "[" not in statement or statement[0] == "node":
            continue
        head, inside = statement[: statement.index("[")], statement[statement.index("[") + 1 : -1]
        assert len(head) in (1, 3)
        assert statement[-1] == "]"
        pairs = [inside[start : start + 4] for start in range(0, len(inside), 4)]
        assert all(pair[1] == "=" and pair[3:] in ([","], []) for pair in pairs)
        result.append({pair[0]: shown(pair[2]) for pair in pairs})
    return result


def shown(word: str) -> str:
    """What Graphviz shows of a value: escapes of labels and entities of HTML stand for something."""
    if not word.startswith('"'):
        return word
    simple = {"n": "\n", "\\": "\\", '"': '"'}
    text = re.sub(r"\\(.)", lambda match: simple[match[1]], word[1:-1])  # another escape (\N, \l) is an error here
    return html.unescape(text)


NASTY = [
    'quo"te', "back\\slash", "ends\\", "\\N \\G \\l", "two\nlines", "<b>bold</b>", "<", "&lt; &amp;", "a]; n0 -> n1 [b",
    '\\"', '"];evil[label="', "\udcff", "t\tab", "/* c */ // d", "#34; end", "{x|y}", "`code`", "é\u202e",
]  # fmt: skip


@pytest.mark.parametrize("text", NASTY)
def test_text_is_shown_as_it_is_by_every_program(text: str, tmp_path: Path) -> None:
    vertices = [("e", "entity", {"filename": text}), ("a", "activity", {"command": text}), (f"{text}?", "agent", {})]
    graph = Graph.build(vertices, [("a", "used", "e"), ("e", "wasInfluencedBy", f"{text}?")])
    label = " ".join(f"{text}?".split())  # a label is on one line
    expected = "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in label)
    dot = read_dot(graph.to_dot())
    assert len(dot) == 5
    assert [each["shape"] for each in dot if "shape" in each] == ["ellipse", "box", "house"]
    assert dot[2]["label"] == expected
    mermaid = graph.to_mermaid()
    nodes = [line for line in mermaid.split("\n") if ":::" in line]
    assert len(nodes) == 3
    assert all(line.count('"') == 2 for line in nodes)
    codes = re.findall(r"#(\d+);|(.)", nodes[2].split('"')[1])
    assert "".join(chr(int(code)) if code else letter for code, letter in codes) == label
    assert [each.findtext(f"{SVG}text") for each in groups(graph.to_svg(), "agent")] == [expected]
    for ending in ("dot", "mmd", "svg"):
        graph.draw(tmp_path / f"a.{ending}")


def test_tables_have_one_line_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    emit_table(("a", "b"), [("x\ty", "1\n2"), ("\x1b[31m", "z")])
    assert capsys.readouterr().out.splitlines() == ["a\tb", "x\\ty\t1\\n2", "\\x1b[31m\tz"]


def test_labels_may_hold_anything() -> None:
    graph = Graph.build([('<&"\x00>' + "x" * 90, "entity"), ("a]--[b", "activity", {"command": '"; drop'})], [])
    assert len(groups(graph.to_svg(), "entity")) == 1
    assert '"; drop' not in graph.to_mermaid()
    assert '\\"; drop' in graph.to_dot()
    assert Image.open(io.BytesIO(graph.to_png())).format == "PNG"


def test_text_forms_have_every_node_and_edge(summary: Summary) -> None:
    mermaid, dot = summary.to_mermaid(), summary.to_dot()
    assert mermaid.startswith("flowchart RL\n")
    assert mermaid.count(" --> ") == dot.count(" -> ") == len(summary.edges)
    assert mermaid.count(":::") == dot.count("shape=") == len(summary.vertices)
    assert "shape=house" in dot


@pytest.mark.parametrize("name", ["a.svg", "sub/a.png", "a.mmd", "a.dot"])
def test_files_are_written_by_their_ending(summary: Summary, tmp_path: Path, name: str) -> None:
    summary.draw(tmp_path / name)
    starts = {"svg": b"<svg", "png": b"\x89PNG", "mmd": b"flowchart", "dot": b"digraph"}
    assert (tmp_path / name).read_bytes().startswith(starts[name[-3:]])


def test_bad_places_are_errors(summary: Summary, tmp_path: Path) -> None:
    with pytest.raises(BadType, match=r"picture must end in \.svg"):
        summary.draw(tmp_path / "a.jpeg")
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be written"):
        summary.draw(tmp_path / "file" / "a.svg")


def test_notebooks_draw_what_is_neither_empty_nor_huge(segment: Segment) -> None:
    assert str(segment._repr_svg_()).startswith("<svg")
    assert lifecycle().segment("log-v1", "weight-v2")._repr_svg_() is None


def test_much_is_collapsed_into_counts_that_add_up() -> None:
    vertices = [("raw", "entity"), ("split", "activity"), *((f"part{i}", "entity") for i in range(400))]
    edges = [("split", "used", "raw"), *((f"part{i}", "wasGeneratedBy", "split") for i in range(400))]
    graph = Graph.build(vertices, edges)
    shown = scene.scene_of(graph)
    assert [(node.label, node.stands_for) for node in shown.nodes] == [
        ("raw", 1),
        ("split", 1),
        ("400 entities", 400),
    ]
    assert [(line.relation, line.label) for line in shown.lines] == [("used", "1"), ("wasGeneratedBy", "400")]


@settings(max_examples=40, deadline=None)
@given(provenance())
def test_edges_lead_to_lower_ranks_and_no_node_lies_upon_another(drawn: Drawn) -> None:
    names = list(drawn.vertices)
    pairs = [(names.index(source), names.index(target)) for source, _, target in drawn.edges]
    ranks = ranks_of(len(names), pairs)
    if drawn.graph.acyclic:
        assert all(ranks[source] > ranks[target] for source, target in pairs)
    layout = lay_out([(100.0, 38.0)] * len(names), pairs)
    for (ax, ay), (bx, by) in combinations(layout.centres, 2):
        assert abs(ax - bx) >= 100 - 1e-6 or abs(ay - by) >= 38 - 1e-6
    assert all(0 <= x <= layout.width and 0 <= y <= layout.height for x, y in layout.centres)
    assert len(layout.routes) == len(pairs)
