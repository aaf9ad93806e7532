"""Several new observations together, samples, evidence and GCV, against the full matrices."""

from __future__ import annotations

import numpy as np
import pytest
from kernsift import (
    KernelRegressor,
    KRLSRegressor,
    LSSVMClassifier,
    LSSVMRegressor,
    OnlineLSSVMRegressor,
    OROLSRegressor,
    SparseLSSVMRegressor,
    SubsetLSSVMRegressor,
)
from oracles.joint import covariance, gcv, log_evidence

FAMILIES = {
    "dense": lambda constant: LSSVMRegressor(gamma=1.0, alpha=0.3, fit_intercept=constant, noise="constant"),
    "isls": lambda constant: SparseLSSVMRegressor(
        gamma=1.0, alpha=0.3, max_basis=10, fit_intercept=constant, noise="constant"
    ),
    "subset": lambda constant: SubsetLSSVMRegressor(
        gamma=1.0, alpha=0.3, basis=np.arange(12), fit_intercept=constant, noise="constant"
    ),
    "stream": lambda constant: OnlineLSSVMRegressor(
        gamma=1.0, alpha=0.3, max_basis=12, fit_intercept=constant, exact_rows=0, novelty_tol=1e-3, noise="constant"
    ),
}


def rows(rng, n=45):
    X = rng.uniform(-2, 2, (n, 2))
    y = np.sin(X[:, 0]) + X[:, 1] + 0.2 * rng.standard_normal(n)
    return X, np.column_stack([y, y**2]), rng.choice([0.5, 1.0, 2.0, 3.0], n)


def parts(model, X, new):
    """Kernels at rows and at new ones, and among all, as the model has them."""
    kernel, Z = model._fitted().kernel, model.basis_vectors_
    K = kernel.matrix(Z, Z)
    return kernel.matrix(X, Z), kernel.matrix(new, Z), K, kernel.matrix(new, new)


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("family", ["dense", "isls", "subset"])
def test_covariance_is_that_of_the_full_matrix(family, constant, rng):
    X, Y, v = rows(rng)
    model, new = FAMILIES[family](constant).fit(X, Y, v), rng.uniform(-3, 3, (9, 2))
    new[4] = X[0]
    G, N, K, K_new = parts(model, X, new)
    Q, cross = G @ np.linalg.solve(K, G.T), G @ np.linalg.solve(K, N.T)
    expected = covariance(Q, cross, K_new, v, 0.3, constant) + np.eye(9)
    mean, found = model.predict(new, return_cov=True)
    np.testing.assert_array_equal(mean, model.predict(new))
    unit = np.atleast_1d(model.noise_variance_ * model._std_factors(new, mean)[0] ** 2)
    np.testing.assert_allclose(found, expected[:, :, None] * unit, rtol=1e-6, atol=1e-8 * found.max())  # cond(K) 1e6
    std = model.predict(new, return_std=True)[1]
    np.testing.assert_allclose(np.einsum("iio->io", found), std**2, rtol=1e-9)
    np.testing.assert_array_equal(found, np.swapaxes(found, 0, 1))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"forgetting": 0.98},
        {"linear": False},
        {"forgetting": 1.0, "linear": False, "window": 60},
        {"fit_intercept": False, "kernel": "laplacian"},
        {"kernel": "polynomial", "degree": 2},
    ],
)
def test_covariance_on_streams_has_the_variances_and_is_that_of_the_memories(settings, rng):
    X, Y, _ = rows(rng, 300)
    model = OnlineLSSVMRegressor(**{"gamma": 0.7, "max_basis": 25, **settings}).partial_fit(X, Y)
    new = rng.uniform(-3, 3, (7, 2))
    mean, found = model.predict(new, return_cov=True)
    expected, std = model.predict(new, return_std=True)
    np.testing.assert_allclose(mean, expected, rtol=1e-12)
    np.testing.assert_allclose(np.einsum("iio->io", found), std**2, rtol=1e-8)
    for output in range(2):
        assert np.linalg.eigvalsh(found[:, :, output]).min() > 0
    # the variance of a sum of two observations is known from a model with a row for each: of one row twice it is
    # four times the variance of the function, and twice that of the noise
    twice = model.predict(np.repeat(new[:1], 2, axis=0), return_cov=True)[1][:, :, 0]
    function = found[0, 0, 0] - model._fitted().predict_with_covariance(new, 1)[2][0]
    np.testing.assert_allclose(twice.sum(), 4 * function + 2 * (found[0, 0, 0] - function), rtol=1e-8)


@pytest.mark.parametrize("constant", [True, False])
def test_covariance_of_a_stream_that_forgets_nothing_is_that_of_the_full_matrix(constant, rng):
    X, Y, v = rows(rng)
    # all of the first rows become kernels, and the second pass is on them alone
    model = FAMILIES["stream"](constant).fit(X, Y, v).refit(X, Y, v)
    new = rng.uniform(-3, 3, (9, 2))
    G, N, K, K_new = parts(model, X, new)
    Q, cross = G @ np.linalg.solve(K, G.T), G @ np.linalg.solve(K, N.T)
    expected = covariance(Q, cross, K_new, v, 0.3, constant) + np.eye(9)
    found = model.predict(new, return_cov=True)[1]
    np.testing.assert_allclose(found, expected[:, :, None] * model.noise_variance_, rtol=1e-6, atol=1e-8 * found.max())


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("family", FAMILIES)
def test_evidence_and_gcv_are_those_of_the_full_matrix(family, constant, rng):
    X, Y, v = rows(rng)
    v[3] = 0.0
    X[5], Y[5] = X[4], Y[4]  # a row twice
    model = FAMILIES[family](constant).fit(X, Y, v)
    if family == "stream":
        model.refit(X, Y, v)
    used = v > 0
    G, _, K, _ = parts(model, X[used], X[:1])
    Q = G @ np.linalg.solve(K, G.T)
    # of batches, weights above one stand for repetitions
    n = used.sum() if family == "stream" else max(v.sum(), used.sum())
    for output in range(2):
        given = Y[used, output], v[used], 0.3, constant
        assert model.log_evidence_[output] == pytest.approx(log_evidence(Q, *given), rel=1e-7)
        assert model.gcv_[output] == pytest.approx(gcv(G, K, *given, n), rel=1e-6)
    if family == "subset":
        half = np.arange(len(X)) < 20
        merged = FAMILIES[family](constant).select_basis(X, Y, v)
        states = [merged.accumulate(X[part], Y[part], v[part]) for part in (half, ~half)]
        np.testing.assert_allclose(merged.merge(*states).log_evidence_, model.log_evidence_, rtol=1e-9)


def test_evidence_says_where_it_has_no_meaning(rng):
    X, Y, v = rows(rng)
    sls = SparseLSSVMRegressor(gamma=1.0, method="sls", max_basis=10).fit(X, Y, v)
    with pytest.raises(AttributeError, match="isls"):
        sls.log_evidence_  # noqa: B018
    assert not hasattr(OROLSRegressor(gamma=1.0).fit(X, Y[:, 0]), "log_evidence_")
    assert not hasattr(KRLSRegressor(gamma=1.0).fit(X, Y[:, 0]), "log_evidence_")
    classifier = LSSVMClassifier(gamma=1.0).fit(X, Y[:, 0] > 0)
    assert np.isfinite([classifier.log_evidence_, classifier.gcv_]).all()


@pytest.mark.parametrize("family", [*FAMILIES, "orols", "front"])
def test_samples_have_the_mean_and_the_covariance(family, rng):
    X, Y, _ = rows(rng)
    of = {"orols": lambda _: OROLSRegressor(gamma=1.0), "front": lambda _: KernelRegressor(small=True, random_state=0)}
    model = {**FAMILIES, **of}[family](True).fit(X, Y[:, 0])
    new = rng.uniform(-2, 2, (4, 2))
    mean, cov = model.predict(new, return_cov=True)
    n = 20_000
    samples = model.sample_y(new, n, random_state=1)
    assert samples.shape == (4, n)
    # means and covariances of n samples are five standard errors off at most
    assert (np.abs(samples.mean(axis=1) - mean) < 5 * np.sqrt(np.diag(cov) / n)).all()
    bound = 5 * np.sqrt((np.outer(np.diag(cov), np.diag(cov)) + cov**2) / n)
    assert (np.abs(np.cov(samples) - cov) < bound).all()
    np.testing.assert_array_equal(samples, model.sample_y(new, n, random_state=1))
    curves = model.sample_y(np.repeat(new[:1], 2, axis=0), 50, random_state=2, noise=False)
    spread = np.sqrt(cov[0, 0])
    np.testing.assert_allclose(curves[0], curves[1], atol=1e-5 * spread)  # the same place, the same value
    assert model.predict(new.astype(np.float32), return_cov=True)[1].dtype == np.float32


def test_several_outputs_are_sampled_each_by_itself(rng):
    X, Y, _ = rows(rng)
    model = SubsetLSSVMRegressor(gamma=1.0, alpha=0.3, basis=X[:10]).fit(X, Y)
    samples = model.sample_y(X[:3], 4000, random_state=0)
    assert samples.shape == (3, 2, 4000)
    cov = model.predict(X[:3], return_cov=True)[1]
    for output in range(2):
        found = np.cov(samples[:, output])
        assert (np.abs(found - cov[:, :, output]) < 0.15 * cov[:, :, output].max()).all()
    between = np.corrcoef(samples[0])[0, 1]
    assert abs(between) < 5 / np.sqrt(4000)


def test_bad_input_says_what_to_change(rng):
    X, Y, _ = rows(rng)
    model = LSSVMRegressor(gamma=1.0).fit(X, Y[:, 0])
    with pytest.raises(ValueError, match="give one"):
        model.predict(X, return_std=True, return_cov=True)
    for wrong in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="n_samples"):
            model.sample_y(X, wrong)
    for unridged in (KRLSRegressor(gamma=1.0).fit(X, Y[:, 0]), SubsetLSSVMRegressor(alpha=0.0).fit(X, Y[:, 0])):
        with pytest.raises(ValueError, match="alpha > 0"):
            unridged.predict(X, return_cov=True)
    literal = OnlineLSSVMRegressor(engine="inverse", forgetting=1.0, linear=False, exact_rows=0, gamma=1.0)
    with pytest.raises(ValueError, match="inverse"):
        literal.fit(X, Y[:, 0]).sample_y(X)
