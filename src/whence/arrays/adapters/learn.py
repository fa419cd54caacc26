"""scikit-learn: the lineage of fitted estimators and of their results.

The state of an estimator comes from the data that it was fitted on. A result comes from its own row and from that
state. Methods of estimators are replaced; without a traced array, they behave as before. The state is one traced array:
a cell for each column if columns are independent (scalers, encoders, imputers), else a single cell. Fitted attributes
(`coef_`) are traced as long as the run lasts. Pipelines and column transformers only pass arrays on, so they are not
replaced.
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from whence.arrays.adapters import learned
from whence.arrays.adapters.foreign import Arguments, compose, follow, traced_in
from whence.arrays.adapters.steps import step
from whence.arrays.rules._rules import Link, Links
from whence.errors import NoRule
from whence.relation import Relation

if TYPE_CHECKING:
    from whence.arrays.tracing import Run, Traced

FITTING = ("fit", "partial_fit", "fit_transform", "fit_predict")
GIVING = (
    "transform", "inverse_transform", "predict", "predict_proba", "predict_log_proba", "decision_function",
    "score_samples", "score",
)  # fmt: skip
PASSING = frozenset(["Pipeline", "FeatureUnion", "ColumnTransformer", "FunctionTransformer"])
"""Estimators that pass arrays on to other estimators."""

METRICS = (
    "accuracy_score", "balanced_accuracy_score", "explained_variance_score", "f1_score", "log_loss", "max_error",
    "mean_absolute_error", "mean_absolute_percentage_error", "mean_squared_error", "median_absolute_error",
    "precision_score", "r2_score", "recall_score", "roc_auc_score", "root_mean_squared_error", "silhouette_score",
)  # fmt: skip

_inside = threading.local()
_done: set[Any] = set()


@dataclass(slots=True)
class Model:
    """What an estimator learned in a run: its cells, and the attributes that are traced until the run ends."""

    run: Run
    cells: Traced
    shown: dict[str, tuple[Any, Any]] = field(default_factory=dict)  # (plain, traced) attributes
    parts: list[Any] = field(default_factory=list)  # estimators inside it


_models: weakref.WeakKeyDictionary[Any, Model] = weakref.WeakKeyDictionary()


def install() -> None:
    """Replace the methods of estimators that were imported since the last call."""
    base = getattr(sys.modules.get("sklearn.base"), "BaseEstimator", None)
    for name, module in list(sys.modules.items()):
        if base is None or not name.startswith("sklearn.") or name.count(".") > 1:
            continue
        for kind in list(vars(module).values()):
            if isinstance(kind, type) and kind not in _done and issubclass(kind, base):
                for own in kind.__mro__:
                    if own.__module__.startswith("sklearn.") and own not in _done:
                        _done.add(own)
                        _replace(own)
    if "sklearn.metrics" in sys.modules:
        follow("sklearn.metrics", METRICS, _one_number)
    if "sklearn.model_selection" in sys.modules:
        compose("sklearn.model_selection", "train_test_split", _split)


def _replace(kind: type) -> None:
    for name, item in list(vars(kind).items()):
        if name in FITTING + GIVING and (callable(item) or hasattr(item, "__get__")):
            setattr(kind, name, _method(name, item) if isinstance(item, types.FunctionType) else _Method(name, item))
        elif isinstance(item, property) and name.endswith("_") and not name.startswith("_") and item.fget:
            setattr(kind, name, property(_reading(item.fget), item.fset, item.fdel, item.__doc__))


def _method(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def called(self: Any, *args: Any, **kwargs: Any) -> Any:
        return _call_estimator(self, name, functools.partial(original, self), args, kwargs)

    return called


class _Method:
    """A method that only some instances have (predict_proba of a support vector machine)."""

    def __init__(self, name: str, original: Any) -> None:
        self._name, self._original = name, original
        self.__doc__ = getattr(original, "__doc__", None)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        found = self._original.__get__(instance, owner)  # raises scikit-learn's own error if there is none
        if instance is None:
            return found

        @functools.wraps(found)
        def called(*args: Any, **kwargs: Any) -> Any:
            return _call_estimator(instance, self._name, found, args, kwargs)

        return called


def _reading(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Wrap a property that returns learned values."""

    @functools.wraps(read)
    def get(self: Any) -> Any:
        model = _model(self)
        if model is None:
            return read(self)
        with _on_plain_arrays(self):
            found = read(self)
        if not isinstance(found, np.ndarray) or found.dtype.kind not in "biuf":
            return found
        return step(model.run, "attribute", [model.cells], found, [_whole(found, model.cells, 0)])

    return get


def _whole(out: Any, operand: Any, number: int) -> tuple[int, Relation, Any]:
    return number, Relation.whole(np.shape(out), operand.value.shape), "value"


def _model(estimator: Any) -> Model | None:
    """Return what an estimator learned in a run that has not ended; None while scikit-learn itself runs."""
    if _busy():
        return None
    model = _models.get(estimator)
    return None if model is None or model.run.finished else model


def _busy() -> bool:
    return bool(getattr(_inside, "depth", None))


def _call_estimator(estimator: Any, name: str, original: Any, args: Any, kwargs: Any) -> Any:
    kind = type(estimator)
    own = kind.__module__.startswith("sklearn.") and kind.__name__ not in PASSING
    if not own or _busy():
        return original(*args, **kwargs)
    given, model = traced_in([*args, kwargs]), _model(estimator)
    if given is not None:
        run = given._run
    elif model is not None:
        run = model.run
    else:
        return original(*args, **kwargs)
    try:
        bound = inspect.signature(original).bind(*args, **kwargs)
    except TypeError:
        return original(*args, **kwargs)  # raises scikit-learn's own error
    try:
        return _followed(run, estimator, name, original, bound.arguments, args, kwargs, model)
    except NoRule as error:
        run.refuse(error)
        raise


def _followed(
    run: Run, estimator: Any, name: str, original: Any, arguments: dict[str, Any], args: Any, kwargs: Any,
    model: Model | None,
) -> Any:  # fmt: skip
    if any(getattr(estimator, each, True) is False for each in ("copy", "copy_X", "copy_x")):
        raise NoRule(f"{type(estimator).__name__}(copy=False) writes into its argument: leave out copy=False")
    data = next(iter(arguments.values()), None)  # X, or y of an estimator of labels
    operands = [each for each in _flat(arguments) if hasattr(type(each), "_is_traced")]
    with _on_plain_arrays(estimator):
        result = original(*map(_numbers, args), **{key: _numbers(each) for key, each in kwargs.items()})
    if name in FITTING:
        before = [model.cells] if model and (name == "partial_fit" or getattr(estimator, "warm_start", False)) else []
        if operands or before:
            model = _fitted(run, estimator, data, operands, before)
        else:
            _forget(estimator)
            model = None
    if result is estimator:
        return result
    if name in ("score", "fit_predict"):
        given = [*operands, *([model.cells] if model else [])]
        return step(run, name, given, _dense(result), [_whole(result, each, n) for n, each in enumerate(given)])
    found = _dense(result)
    cells = model.cells if model else None
    parts = [each for each in (data if hasattr(type(data), "_is_traced") else None, cells) if each is not None]
    plain = np.asarray(_numbers(data))
    with _on_plain_arrays(estimator):
        links = learned.links(estimator, name, plain, found, None if cells is None else cells.value.shape)
    at = {"data": 0, "model": len(parts) - 1}
    wanted = [
        (at[which], relation, kind)
        for which, relation, kind in links
        if (which == "data" and parts[0] is data) or (which == "model" and cells is not None)
    ]
    return step(run, f"{type(estimator).__name__}.{name}", parts, found, wanted)


def _flat(item: Any) -> Iterator[Any]:
    if isinstance(item, dict):
        item = list(item.values())
    if isinstance(item, (list, tuple)):
        for each in item:
            yield from _flat(each)
    else:
        yield item


def _numbers(item: Any) -> Any:
    """Return arguments with plain arrays for traced ones."""
    if hasattr(type(item), "_is_traced"):
        return item.value
    if type(item) in (list, tuple):
        return type(item)(map(_numbers, item))
    return {key: _numbers(each) for key, each in item.items()} if type(item) is dict else item


def _dense(result: Any) -> Any:
    if isinstance(result, (int, float, np.generic)):
        return np.asarray(result)
    if not isinstance(result, np.ndarray) or result.dtype.kind not in "biufc":
        what = result.dtype if isinstance(result, np.ndarray) else type(result).__name__
        sparse = ": sparse_output=False gives an array" if hasattr(result, "toarray") else ""
        raise NoRule(f"a scikit-learn estimator that returns {what} is not followed{sparse}")
    return result


# --- the fitted state


def _fitted(run: Run, estimator: Any, data: Any, operands: list[Any], before: list[Any]) -> Model:
    columns = learned.by_columns(estimator) and np.ndim(_numbers(data)) == 2
    shape = (np.shape(_numbers(data))[1],) if columns else ()
    own = data if hasattr(type(data), "_is_traced") else None
    links: list[tuple[int, Relation, Any]] = []
    for n, each in enumerate([*operands, *before]):
        if columns and own is not None and each is own:
            links.append((n, learned.columns_of(own.value.shape), "value"))
        elif n >= len(operands) and each.value.shape == shape:
            links.append((n, Relation.identity(shape), "value"))
        else:
            links.append((n, Relation.whole(shape, each.value.shape), "value"))
    cells = step(run, f"{type(estimator).__name__}.fit", [*operands, *before], np.zeros(shape), links)
    _forget(estimator)
    return _remember(run, estimator, cells)


def _remember(run: Run, estimator: Any, cells: Any) -> Model:
    model = Model(run, cells)
    if not any(each.run is run for each in _models.values()):
        run.at_end.append(functools.partial(_forget_all, run))
    _models[estimator] = model
    for name, item in list(vars(estimator).items()):
        if name.startswith("_") or not name.endswith("_"):
            continue
        made = _traced(run, cells, item)
        if made is not item:
            model.shown[name] = (item, made)
        for each in _flat(item):
            if hasattr(each, "get_params") and each not in _models:
                model.parts.append(each)
                _remember(run, each, cells)
    _show(estimator, model)
    return model


def _traced(run: Run, cells: Any, item: Any) -> Any:
    if isinstance(item, list) and item and all(isinstance(each, np.ndarray) for each in item):
        return [_traced(run, cells, each) for each in item]
    if not isinstance(item, (np.ndarray, float, np.floating)) or np.asarray(item).dtype.kind not in "biuf":
        return item
    one = np.asarray(item)
    by_column = one.ndim == 1 and one.shape == cells.value.shape
    relation = Relation.identity(one.shape) if by_column else Relation.whole(one.shape, cells.value.shape)
    return step(run, "attribute", [cells], one, [(0, relation, "value")])


def _show(estimator: Any, model: Model) -> None:
    for name, (item, made) in model.shown.items():
        if vars(estimator).get(name) is item:
            vars(estimator)[name] = made


def _hide(estimator: Any) -> None:
    model = _models.get(estimator)
    if model is not None:
        for name, (item, made) in model.shown.items():
            if vars(estimator).get(name) is made:
                vars(estimator)[name] = item
        for each in model.parts:
            _hide(each)


def _reveal(estimator: Any) -> None:
    model = _models.get(estimator)
    if model is not None:
        _show(estimator, model)
        for each in model.parts:
            _reveal(each)


@contextmanager
def _on_plain_arrays(estimator: Any) -> Iterator[None]:
    """Run scikit-learn itself on plain arrays and attributes."""
    _inside.depth = getattr(_inside, "depth", 0) + 1
    _hide(estimator)
    try:
        yield
    finally:
        _reveal(estimator)
        _inside.depth -= 1


def _forget(estimator: Any) -> None:
    _hide(estimator)
    model = _models.pop(estimator, None)
    for each in model.parts if model else ():
        _forget(each)


def _forget_all(run: Any) -> None:
    for estimator, model in list(_models.items()):
        if model.run is run:
            _forget(estimator)


# --- functions


def _one_number(a: Arguments) -> Links:
    """A metric is one number from all of its arguments."""
    return [
        Link(each, Relation.whole((), each.shape)) for each in vars(a).values() if isinstance(each, np.ndarray)
    ]  # fmt: skip


def _split(run: Run, real: Callable[..., Any], *arrays: Any, **options: Any) -> list[Any]:
    """train_test_split: select the rows of each array by indices that are drawn once."""
    from sklearn.utils import _safe_indexing

    stratify = options.get("stratify")
    sides = {len(each) for each in arrays}
    if len(sides) != 1:
        return list(real(*map(_numbers, arrays), **options))  # raises scikit-learn's own error
    places = real(np.arange(sides.pop()), **{**options, "stratify": _numbers(stratify)})
    if hasattr(type(stratify), "_is_traced"):
        places = [
            step(run, "train_test_split", [stratify], each, [(*_whole(each, stratify, 0)[:2], "selection")])
            for each in places
        ]
    return [
        array[each] if hasattr(type(array), "_is_traced") else _safe_indexing(array, _numbers(each))
        for array in arrays
        for each in places
    ]
