"""Tests that every `RelationLike` must pass: subclass `RelationConformance`, give examples, run pytest.

    class TestWhole(RelationConformance):
        def examples(self):
            return st.tuples(shapes(), shapes()).map(lambda s: (Relation.whole(*s), RawRelation.whole(*s)))

Each example is the relation under test, and the same relation as a plain set of tuples.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from hypothesis import given
from hypothesis import strategies as st

from whence.testing.oracle import Cells, RawRelation, all_cells, as_cells
from whence.testing.strategies import asked, effort


class Cellular(Protocol):
    """The result of `backward` and `forward`: a selection."""

    def cells(self) -> Iterable[Iterable[Any]]: ...

    def __len__(self) -> int: ...


Example = tuple[Any, RawRelation]  # of a RelationLike


def answer(selection: Cellular) -> Cells:
    """Return the cells of a selection as a set; check that they are sorted, distinct and counted correctly."""
    rows = [tuple(int(index) for index in row) for row in selection.cells()]
    assert rows == sorted(set(rows)), "cells() must be sorted and without duplicates"
    assert len(selection) == len(rows), "len() must count the cells"
    return as_cells(rows)


class RelationConformance:
    """Every relation must answer as its set of tuples does."""

    def examples(self) -> st.SearchStrategy[Example]:
        """Return pairs of a relation under test and the same relation as a set of tuples."""
        raise NotImplementedError("a subclass says which relations to test")

    @given(st.data())
    @effort(100)
    def test_shapes(self, data: st.DataObject) -> None:
        relation, raw = data.draw(self.examples())
        assert tuple(relation.out_shape) == raw.out_shape
        assert tuple(relation.in_shape) == raw.in_shape

    @given(st.data())
    @effort(200)
    def test_backward(self, data: st.DataObject) -> None:
        relation, raw = data.draw(self.examples())
        question = data.draw(asked(raw.out_shape))
        assert answer(relation.backward(question.given)) == raw.backward(question.cells)

    @given(st.data())
    @effort(200)
    def test_forward(self, data: st.DataObject) -> None:
        relation, raw = data.draw(self.examples())
        question = data.draw(asked(raw.in_shape))
        assert answer(relation.forward(question.given)) == raw.forward(question.cells)

    @given(st.data())
    @effort(30)
    def test_each_cell_apart(self, data: st.DataObject) -> None:
        relation, raw = data.draw(self.examples())
        for cell in sorted(all_cells(raw.out_shape))[:12]:
            assert answer(relation.backward([cell])) == raw.backward([cell])
        for cell in sorted(all_cells(raw.in_shape))[:12]:
            assert answer(relation.forward([cell])) == raw.forward([cell])

    @given(st.data())
    @effort(50)
    def test_there_and_back_keeps_what_has_lineage(self, data: st.DataObject) -> None:
        relation, raw = data.draw(self.examples())
        question = data.draw(asked(raw.out_shape))
        returned = answer(relation.forward(relation.backward(question.given)))
        assert returned >= {cell for cell in question.cells if raw.backward([cell])}


class StoredRelationConformance(RelationConformance):
    """For relations that can also be composed, inverted, counted and expanded."""

    @given(st.data())
    @effort(200)
    def test_expands_to_the_tuples(self, data: st.DataObject) -> None:
        relation, raw = data.draw(self.examples())
        assert relation.to_array().tolist() == raw.to_array().tolist()
        assert relation.to_array().shape == raw.to_array().shape

    @given(st.data())
    @effort(200)
    def test_counts_without_expanding(self, data: st.DataObject) -> None:
        relation, raw = data.draw(self.examples())
        assert relation.count() == raw.count()
        assert (len(relation) == 0) == (raw.count() == 0)

    @given(st.data())
    @effort(100)
    def test_inverse(self, data: st.DataObject) -> None:
        relation, raw = data.draw(self.examples())
        inverse, expected = relation.inverse, raw.inverse
        assert (tuple(inverse.out_shape), tuple(inverse.in_shape)) == (expected.out_shape, expected.in_shape)
        assert inverse.to_array().tolist() == expected.to_array().tolist()
        question = data.draw(asked(expected.out_shape))
        assert answer(inverse.backward(question.given)) == expected.backward(question.cells)
        assert inverse.inverse == relation

    @given(st.data())
    @effort(100)
    def test_composed_with_its_inverse(self, data: st.DataObject) -> None:
        relation, raw = data.draw(self.examples())
        joined, expected = relation.compose(relation.inverse), raw.compose(raw.inverse)
        assert joined.to_array().tolist() == expected.to_array().tolist()
        assert joined.count() == expected.count()

    @given(st.data())
    @effort(50)
    def test_bytes_round_trip(self, data: st.DataObject) -> None:
        relation, raw = data.draw(self.examples())
        again = type(relation).from_bytes(relation.to_bytes())
        assert again == relation
        assert again.to_array().tolist() == raw.to_array().tolist()
