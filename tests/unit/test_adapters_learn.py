"""scikit-learn in tracked functions: lineage against perturbation."""

from __future__ import annotations

import os
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestRegressor
from sklearn.feature_selection import SelectKBest, VarianceThreshold, f_regression
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, SGDRegressor
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC
from sklearn.utils import all_estimators

import whence as wh
from whence.errors import NoRule
from whence.testing.influence import Change, influences, recorded


def table(rows: int = 8, columns: int = 3, seed: int = 0) -> Any:
    return np.random.default_rng(seed).random((rows, columns))


def half(_: Any) -> float:
    return 0.5


def far(number: Any) -> Any:
    return number + 3.0


def with_gaps() -> Any:
    x = table()
    x[[1, 3, 6], [0, 2, 0]] = np.nan
    return x


def split_and_measured(x: Any) -> Any:
    train, test, y_train, y_test = train_test_split(x[:, :2], x[:, 2], random_state=0)
    return mean_squared_error(y_test, LinearRegression().fit(train, y_train).predict(test))


def by_hand(x: Any) -> Any:
    scaler = StandardScaler().fit(x[:5])
    return (x[5:] - scaler.mean_) / scaler.scale_


def in_parts(x: Any) -> Any:
    scaler = StandardScaler()
    scaler.partial_fit(x[:2])
    scaler.partial_fit(x[2:5])
    return scaler.transform(x[5:])


def refitted(x: Any) -> Any:
    scaler = StandardScaler().fit(x)
    return scaler.fit(x[:4]).transform(x[4:])


def changed_afterwards(x: Any) -> Any:
    train = x[:5].copy()
    model = LinearRegression().fit(train[:, :2], train[:, 2])
    train[:] = 0.0
    return model.predict(x[5:, :2])


def searched(x: Any, model: Any, **options: Any) -> Any:
    return GridSearchCV(model, options, cv=2).fit(x[:, :2], x[:, 2])


EXACT: dict[str, Callable[[Any], Any]] = {
    "standard": lambda x: StandardScaler().fit_transform(x),
    "standard elsewhere": lambda x: StandardScaler().fit(x[:5]).transform(x[5:]),
    "back again": lambda x: StandardScaler().fit(x[:5]).inverse_transform(x[5:]),
    "by hand": by_hand,
    "in parts": in_parts,
    "refitted": refitted,
    "pipeline": lambda x: make_pipeline(StandardScaler(), Normalizer()).fit(x[:5]).transform(x[5:]),
    "normalizer": lambda x: Normalizer().fit_transform(x),
    "polynomial": lambda x: PolynomialFeatures(2).fit_transform(x),
    "regression": lambda x: LinearRegression().fit(x[:5, :2], x[:5, 2]).predict(x[5:, :2]),
    "coefficients": lambda x: LinearRegression().fit(x[:, :2], x[:, 2]).coef_,
    "intercept": lambda x: LinearRegression().fit(x[:, :2], x[:, 2]).intercept_ * np.ones(2),
    "pipeline that predicts": lambda x: (
        make_pipeline(StandardScaler(), LinearRegression()).fit(x[:5, :2], x[:5, 2]).predict(x[5:, :2])
    ),
    "weights": lambda x: LinearRegression().fit(x[:5, :1], x[:5, 1], sample_weight=x[:5, 2]).predict(x[5:, :1]),
    "columns": lambda x: ColumnTransformer([("s", StandardScaler(), [0, 2]), ("p", "drop", [1])]).fit_transform(x),
    "split": lambda x: train_test_split(x, random_state=1)[1],
    "split and measured": split_and_measured,
    "changed afterwards": changed_afterwards,
    "score": lambda x: LinearRegression().fit(x[:5, :2], x[:5, 2]).score(x[5:, :2], x[5:, 2]),
    "principal components": lambda x: PCA(2).fit(x[:5]).transform(x[5:]),
}  # fmt: skip

CLASSES = np.array([0, 1, 0, 1, 1, 0, 1, 0])

SAFE: dict[str, tuple[Callable[[Any], Any], tuple[Change, ...]]] = {
    "min max": (lambda x: MinMaxScaler().fit_transform(x), (far, half)),
    "max abs": (lambda x: MaxAbsScaler().fit_transform(x), (far, half)),
    "robust": (lambda x: RobustScaler().fit_transform(x), (far, half)),
    "one hot": (lambda x: OneHotEncoder(sparse_output=False).fit_transform(x > 0.5), (lambda v: 1 - v,)),
    "ordinal": (lambda x: OrdinalEncoder().fit_transform(np.round(x * 2)), (half, far)),
    "bins": (lambda x: KBinsDiscretizer(2, encode="onehot-dense").fit_transform(x), (half, far)),
    "binarizer": (lambda x: Binarizer(threshold=0.5).fit_transform(x), (lambda v: 1 - v,)),
    "forest": (lambda x: RandomForestRegressor(4, random_state=0).fit(x[:, :2], x[:, 2]).predict(x[:, :2]), (far,)),
    "importances": (
        lambda x: RandomForestRegressor(4, random_state=0).fit(x[:, :2], x[:, 2]).feature_importances_,
        (far,),
    ),
    "neighbours": (lambda x: KNeighborsRegressor(2).fit(x[:5, :2], x[:5, 2]).predict(x[5:, :2]), (far,)),
    "clusters": (lambda x: KMeans(2, random_state=0, n_init=1).fit_predict(x), (far,)),
    "centres": (lambda x: KMeans(2, random_state=0, n_init=1).fit(x).cluster_centers_, (far,)),
    "logistic": (lambda x: LogisticRegression().fit(x, CLASSES).predict_proba(x[:2]), (far,)),
    "decisions": (lambda x: SVC().fit(x, CLASSES).decision_function(x[:3]), (far,)),
    "grid": (lambda x: searched(x, KNeighborsRegressor(), n_neighbors=[1, 2]).predict(x[:, :2]), (far,)),
    "best of a grid": (
        lambda x: searched(x, SGDRegressor(random_state=0), alpha=[1, 2]).best_estimator_.coef_,
        (far,),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EXACT)
def test_exact(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seen: set[Any] = set()
        for seed in range(3):
            seen |= influences(EXACT[name], [table(seed=seed)], far)[0, 0]
    assert recorded(EXACT[name], [table()])[0, 0] == seen


@pytest.mark.parametrize("name", SAFE)
def test_no_cell_is_missing(name: str) -> None:
    function, changes = SAFE[name]
    said = recorded(function, [table()])
    assert influences(function, [table()], *changes)[0, 0] <= said[0, 0]


def test_scalers_and_encoders_keep_columns_apart() -> None:
    for name in ("min max", "max abs", "robust", "ordinal", "one hot", "bins"):
        said = recorded(SAFE[name][0], [table()])[0, 0]
        assert len({each[3] for each in said if each[:2] == (2, 0)}) == 1, name


def test_an_imputed_cell_is_of_its_column_and_others_of_themselves() -> None:
    fill = lambda x: SimpleImputer(strategy="mean").fit_transform(x)  # noqa: E731  # read as one line beside its call
    x = with_gaps()
    said = recorded(fill, [x])[0, 0]
    assert influences(fill, [x], far, half)[0, 0] == said
    assert {each[2:] for each in said if each[:2] == (0, 0)} == {(0, 0)}
    assert {each[2:] for each in said if each[:2] == (1, 0)} == {(i, 0) for i in range(8)}


def test_selectors_are_decided_by_all() -> None:
    chosen = lambda x: SelectKBest(f_regression, k=1).fit(x[:, :2], x[:, 2]).transform(x[:, :2])  # noqa: E731  # read as one line beside its call
    said = recorded(chosen, [table()])[0, 0]
    assert len(said) == 8
    assert len(recorded(chosen, [table()], selection=True)[0, 0]) > 100
    assert len(recorded(lambda x: VarianceThreshold(0.0).fit_transform(x), [table()])[0, 0]) == 24


def test_stratified_rows_are_decided_by_the_classes() -> None:
    def split(x: Any, y: Any) -> Any:
        return train_test_split(x, stratify=y, random_state=0)[1]

    inputs = [table(), CLASSES.astype(float)]
    assert len(recorded(split, inputs)[0, 1]) == 0
    assert len(recorded(split, inputs, selection=True)[0, 1]) == 2 * 3 * 8


def test_sparse_results_are_said() -> None:
    with pytest.raises(NoRule, match="sparse_output=False"):
        recorded(lambda x: OneHotEncoder().fit_transform(np.round(x)).toarray(), [table()])


def test_writing_into_the_argument_is_refused() -> None:
    with pytest.raises(NoRule, match="copy=False"):
        recorded(lambda x: StandardScaler(copy=False).fit_transform(x), [table()])


def test_values_and_attributes_are_scikit_learns() -> None:
    kept: dict[str, Any] = {}

    def fit(x: Any) -> Any:
        kept["model"] = LinearRegression().fit(x[:, :2], x[:, 2])
        return kept["model"].predict(x[:, :2])

    x = table()
    recorded(fit, [x])
    plain = LinearRegression().fit(x[:, :2], x[:, 2])
    assert type(kept["model"].coef_) is np.ndarray
    np.testing.assert_array_equal(kept["model"].coef_, plain.coef_)
    np.testing.assert_array_equal(kept["model"].predict(x[:, :2]), plain.predict(x[:, :2]))


def test_a_model_that_a_call_returns_is_linked_to_what_it_predicts(tmp_path: Path) -> None:
    log = wh.open(tmp_path / "log")
    x, y, new = table(12), table(12)[:, 0] + table(12, seed=1)[:, 1], table(4, seed=2)

    @log.track
    def train(x: Any, y: Any) -> Any:
        return make_pipeline(StandardScaler(), LinearRegression()).fit(x, y)

    @log.track
    def predict(new: Any, model: Any) -> Any:
        return model.predict(new)

    predict(new, train(x, y))
    found = log.backward("predict", [(1,)])
    assert {name: len(found[name]) for name in ("x", "y", "new")} == {"x": 36, "y": 12, "new": 3}


def test_a_model_that_shows_nothing_is_said(tmp_path: Path) -> None:
    log = wh.open(tmp_path / "log")
    model = RandomForestRegressor(20, random_state=0).fit(table(), table()[:, 0])
    wood = log.track(lambda x: model.predict(x), name="wood")
    wood(table(seed=1))
    assert any("'model' was fitted on" in note for note in log.backward("wood", [0]).notes)


def _tried() -> list[Any]:
    """Some of scikit-learn's estimators, others every day; WHENCE_ESTIMATORS=all tries every one."""
    kinds = [pytest.param(kind, id=name) for name, kind in all_estimators() if kind.__module__.startswith("sklearn.")]
    chosen = os.environ.get("WHENCE_ESTIMATORS", os.environ.get("WHENCE_SEED", "0"))
    return kinds if chosen == "all" else random.Random(int(chosen)).sample(kinds, 40)


def _changed_rows(function: Callable[[Any], Any], x: Any) -> list[tuple[int, int]] | None:
    """Which rows of the result change with which rows of the argument; None if it cannot be called so."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            before = function(x)
            found = []
            for at in range(len(x)):
                other = x.copy()
                other[at] = x[at] * 1.5
                after = np.asarray(function(other))
                found += [
                    (row, at) for row in range(len(x)) if not np.allclose(before[row], after[row], equal_nan=True)
                ]
            return found
    except Exception:
        return None


@pytest.mark.parametrize("kind", _tried())
def test_results_of_fitted_estimators_depend_on_their_own_row(kind: Any) -> None:
    """The one thing that is taken for granted of every estimator: a batch is its rows."""
    x, y = np.abs(table(12, seed=3)), (table(12, seed=4)[:, 0] > 0.5).astype(int)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = kind().fit(x, y)
    except Exception as error:
        pytest.skip(f"needs other data: {error}")
    for method in ("transform", "predict", "predict_proba", "decision_function", "score_samples"):
        if not hasattr(model, method):
            continue
        function = eval(f"lambda x: model.{method}(x)", {"model": model})
        seen = _changed_rows(function, x[:3])
        if seen is None:
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                said = recorded(function, [x[:3]])
        except (NoRule, KeyError):
            continue  # which is said: not followed, or no array of numbers
        ndim = len(next(iter(said[0, 0]), (0,))) - 2
        assert set(seen) <= {(each[0], each[ndim]) for each in said[0, 0]}, method
