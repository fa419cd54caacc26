"""Every way to come by a relation of boxes, judged by the same suite."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import strategies as st

import whence as wh
from whence.testing.conformance import Example, StoredRelationConformance
from whence.testing.operations import Raw
from whence.testing.oracle import RawRelation
from whence.testing.strategies import relations, relations_from, shapes, unions


def compressed(raw: Raw) -> Example:
    return wh.compress(*raw), RawRelation.from_rows(*raw)


@st.composite
def composed(draw: st.DrawFn) -> Example:
    earlier = draw(relations_from(draw(shapes(max_cells=24))))
    later = draw(relations_from(earlier.out_shape))
    relation = wh.compress(*later).compose(wh.compress(*earlier))
    return relation, RawRelation.from_rows(*later).compose(RawRelation.from_rows(*earlier))


@st.composite
def loaded(draw: st.DrawFn) -> Example:
    raw = draw(relations())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "relation"
        wh.compress(*raw).save(path)
        relation = wh.Relation.load(path)
        # The file is gone when the questions come: what was opened must stay readable, as an open file does.
    return relation, RawRelation.from_rows(*raw)


class TestCompressed(StoredRelationConformance):
    def examples(self) -> st.SearchStrategy[Example]:
        return relations().map(compressed)


class TestUnions(StoredRelationConformance):
    def examples(self) -> st.SearchStrategy[Example]:
        return st.tuples(shapes(), shapes()).flatmap(lambda sides: unions(*sides)).map(compressed)


class TestInverted(StoredRelationConformance):
    def examples(self) -> st.SearchStrategy[Example]:
        return relations().map(lambda raw: (wh.compress(*raw).inverse, RawRelation.from_rows(*raw).inverse))


class TestComposed(StoredRelationConformance):
    def examples(self) -> st.SearchStrategy[Example]:
        return composed()


class TestLoaded(StoredRelationConformance):
    def examples(self) -> st.SearchStrategy[Example]:
        return loaded()


class TestIdentity(StoredRelationConformance):
    def examples(self) -> st.SearchStrategy[Example]:
        return shapes().map(lambda shape: (wh.Relation.identity(shape), RawRelation.identity(shape)))


class TestWhole(StoredRelationConformance):
    def examples(self) -> st.SearchStrategy[Example]:
        pairs = st.tuples(shapes(max_cells=24), shapes(max_cells=24))
        return pairs.map(lambda sides: (wh.Relation.whole(*sides), RawRelation.whole(*sides)))


class TestEmpty(StoredRelationConformance):
    def examples(self) -> st.SearchStrategy[Example]:
        pairs = st.tuples(shapes(), shapes())
        return pairs.map(lambda sides: (wh.Relation.empty(*sides), RawRelation.empty(*sides)))
