"""Large bases: one square where the sums are not kept, and threads."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from kernsift import SubsetLSSVMClassifier, SubsetLSSVMRegressor
from sklearn.base import clone
from support.subset_tables import table


@pytest.mark.parametrize("how", ["given", "vectors", "dependent", "random", "pruned", "polished"])
@pytest.mark.parametrize("kind", [SubsetLSSVMRegressor, SubsetLSSVMClassifier])
def test_without_its_sums_a_model_answers_as_with_them(kind, how, rng):
    X, y = table(rng, 900)
    if how == "dependent":
        X[5] = X[3]
    target = y if kind is SubsetLSSVMRegressor else (y > np.median(y)).astype(int) + (y > np.quantile(y, 0.9))
    bases = {"vectors": X[:30] + 0.01, "dependent": np.arange(31), "random": "random", "pruned": "pruned"}
    settings = {"basis": bases.get(how, np.arange(30)), "max_basis": 30, "polish": 5 * (how == "polished")}
    v = rng.uniform(0.5, 2, 900)
    model = kind(gamma=0.5, alpha=0.05, random_state=0, **settings).fit(X, target, sample_weight=v)
    small = clone(model).set_params(keep_sums=False).fit(X, target, sample_weight=v)
    assert small.n_basis_ == 30
    # the same sums and factors in another place: equal but for the order of rounding in the products, which a descent
    # to other centres in between amplifies
    tol = 1e-4 if how == "polished" else 1e-9
    answers = ["predict"] if kind is SubsetLSSVMRegressor else ["decision_function", "predict_proba"]
    for name in answers:
        np.testing.assert_allclose(getattr(small, name)(X), getattr(model, name)(X), rtol=tol, atol=tol)
    if kind is SubsetLSSVMRegressor:
        for given, expected in zip(small.predict(X, return_std=True), model.predict(X, return_std=True), strict=True):
            np.testing.assert_allclose(given, expected, rtol=tol, atol=tol)
    again = pickle.loads(pickle.dumps(small))
    assert again.predict(X).tobytes() == small.predict(X).tobytes()
    if kind is SubsetLSSVMRegressor:
        np.testing.assert_array_equal(again.predict(X, return_std=True)[1], small.predict(X, return_std=True)[1])


@pytest.mark.parametrize("noise", [0.2, 0.0])
@pytest.mark.parametrize("alpha", ["gcv", "loo"])
@pytest.mark.parametrize("basis", ["given", "pruned"])
def test_without_its_sums_a_ridge_is_chosen_as_with_them(alpha, basis, noise, rng):
    X = rng.uniform(-2, 2, (600, 2))
    y = np.sin(2 * X[:, 0]) + noise * rng.standard_normal(600)
    how = {"basis": np.arange(40) if basis == "given" else "pruned", "max_basis": 40, "random_state": 0}
    model = SubsetLSSVMRegressor(gamma=0.5, alpha=alpha, **how).fit(X, y)
    small = clone(model).set_params(keep_sums=False).fit(X, y)
    if noise:
        assert small.alpha_ == pytest.approx(model.alpha_, rel=1e-6)
    else:  # a factor needs a ridge above its rounding
        assert small.alpha_ >= model.alpha_ * (1 - 1e-6)
    # without noise the ridge differs, and both err by little beside y, which has variance .5
    np.testing.assert_allclose(small.predict(X), model.predict(X), rtol=0, atol=1e-7 if noise else 1e-4)
    mean, std = small.predict(X, return_std=True)
    assert mean.tobytes() == small.predict(X).tobytes()
    assert np.isfinite(std).all()
    assert not hasattr(small, "state_")


def test_without_its_sums_a_model_refuses_what_needs_them(rng):
    X, y = table(rng, 300)
    model = SubsetLSSVMRegressor(gamma=0.5, alpha=0.05, basis=np.arange(20), keep_sums=False).fit(X, y)
    before = model.predict(X)
    whole = clone(model).set_params(keep_sums=True).fit(X, y)
    for refused in (
        lambda: model.partial_fit(X, y),
        lambda: model.merge(whole),
        lambda: model.merge(),
        lambda: model.resize(5),
        lambda: model.fit_batches([(X, y)]),
        lambda: model.select_basis(X, y),
        lambda: whole.merge(model),
    ):
        with pytest.raises(ValueError, match="keep_sums"):
            refused()
    for name in ("state_", "gcv_"):
        with pytest.raises(AttributeError, match="keep_sums"):
            getattr(model, name)
    with pytest.raises(ValueError, match=r"below the rounding.*larger alpha"):
        clone(model).set_params(alpha=1e-30).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), before)
    # the basis is still good for sums of others
    np.testing.assert_allclose(model.accumulate(X, y).M, whole.state_.M, rtol=1e-12, atol=1e-9)
    # and with the parameter set again, everything is there again
    assert model.set_params(keep_sums=True).fit(X, y).partial_fit(X, y).n_samples_seen_ == 600


@pytest.mark.parametrize("m", [40, 1100])  # parts of the rows have their own sums, or share one
@pytest.mark.parametrize("keep_sums", [True, False])
def test_threads_change_no_bit(m, keep_sums, rng, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    X = rng.standard_normal((9000, 12))
    y = np.sin(X[:, 0]) + X[:, 1]
    first = None
    for n_jobs in (None, 2, 3):
        model = SubsetLSSVMRegressor(gamma=0.02, alpha=0.1, basis=np.arange(m), keep_sums=keep_sums, n_jobs=n_jobs)
        model.fit(X, y)
        answer = [model.dual_coef_.tobytes(), model.predict(X).tobytes()]
        first = answer if first is None else first
        assert answer == first


_PEAK = """
import pathlib, re, sys
import numpy as np
from kernsift import SubsetLSSVMRegressor

def kilobytes(field):
    return int(re.search(field + r":\\s+(\\d+)", pathlib.Path("/proc/self/status").read_text())[1])

m, n = int(sys.argv[1]), int(sys.argv[2])
X = np.random.default_rng(0).standard_normal((n, 20))
y = np.sin(X[:, 0])
model = SubsetLSSVMRegressor(gamma=0.05, alpha=0.5, basis=np.arange(50), keep_sums=False).fit(X, y)
pathlib.Path("/proc/self/clear_refs").write_text("5")  # the peak begins here
before = kilobytes("VmRSS")
model.set_params(basis=np.arange(m)).fit(X, y)
print(model.n_basis_, kilobytes("VmHWM") - before)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/clear_refs"), reason="the peak of memory is read from Linux's /proc")
def test_a_fit_without_its_sums_takes_one_square():
    m, n = 3000, 6000
    run = subprocess.run([sys.executable, "-c", _PEAK, str(m), str(n)], capture_output=True, text=True, check=True)
    n_basis, kilobytes = map(int, run.stdout.split())
    assert n_basis == m
    # the square; blocks of 128 columns and their kernels, or a tile of 256 rows; a few numbers a row; and 8 MB for the
    # blocks of the matrix products and the table of kernels
    assert kilobytes * 1024 < 8 * m * (m + 1) + 8 * 512 * m + 8 * 10 * n + 8e6
