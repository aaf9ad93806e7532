"""What holds of all blocks: types, files, threads, the functions against their oracles."""

from __future__ import annotations

import ast
import re
import runpy
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from kernsift import FeatureVectorSelector, KRLSRegressor, OROLSRegressor, blocks
from oracles import brute_force_fvs, literal_deletion

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def test_the_typed_script_runs_and_uses_every_name():
    text = (HERE / "typed.py").read_text(encoding="utf-8")
    assert np.isfinite(runpy.run_path(str(HERE / "typed.py"))["main"]()).all()
    used = {node.attr for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Attribute)}
    wanted = set(blocks.__all__)
    for name in blocks.__all__:
        thing = getattr(blocks, name)
        if isinstance(thing, type) and issubclass(thing, blocks.Kernel.__mro__[1]):
            # those of its own file: what comes from scikit-learn is its matter
            wanted |= {
                n for n, m in vars(thing).items() if not n.startswith("_") and (callable(m) or isinstance(m, property))
            }
    assert wanted - used == set()


def test_the_typed_script_is_strictly_typed():
    pytest.importorskip("mypy", reason="needs mypy")
    if not (ROOT / "pyproject.toml").is_file():
        pytest.skip("pyproject.toml is not beside these tests")
    command = [sys.executable, "-m", "mypy", "--strict", str(HERE / "typed.py")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def made(rng):
    """One of each block, with a state."""
    X, y = rng.standard_normal((20, 3)), rng.standard_normal(20)
    kernel = blocks.Kernel("matern32", gamma=[0.1, 0.2, 0.3])
    span, columns = blocks.KernelSpan(kernel), blocks.PseudoInverse(20, weights=rng.uniform(1, 2, 20), n_unpenalised=1)
    for i in range(5):
        assert span.append(X[i])
    for column in (np.ones(20), *X.T):
        assert columns.append(column)
    symmetric, unsymmetric = blocks.SymmetricInverse(ridge=0.1, size=3), blocks.UnsymmetricInverse(ridge=1.0, size=3)
    assert symmetric.update_block(X)
    assert unsymmetric.update(X[0], X[1])
    model = blocks.RecursiveLeastSquares().fit(X, y)
    return X, {
        "kernel": (kernel, lambda b: b(X, X)),
        "span": (span, lambda b: b.coordinates(X)),
        "columns": (columns, lambda b: b.solve(y)),
        "symmetric": (symmetric, lambda b: b.apply(X)),
        "unsymmetric": (unsymmetric, lambda b: b.apply(X)),
        "model": (model, lambda b: b.predict(X)),
    }


def test_saved_blocks_go_on_to_the_bit(rng, tmp_path):
    for name, (block, read) in made(rng)[1].items():
        path = tmp_path / f"{name}.npz"
        block.save(path)
        again = blocks.load(path)
        assert type(again) is type(block)
        np.testing.assert_array_equal(read(again), read(block))
        assert not any(array.dtype == object for array in np.load(path).values() if isinstance(array, np.ndarray))
    KRLSRegressor(gamma=1.0).fit([[1.0], [2.0]], [1.0, 2.0]).save(tmp_path / "model.npz")
    with pytest.raises(ValueError, match="holds no block"):
        blocks.load(tmp_path / "model.npz")


def test_inputs_are_neither_kept_nor_changed(rng):
    X = rng.standard_normal((6, 3))
    before = X.copy()
    inverse, span = blocks.SymmetricInverse(X.T @ X), blocks.KernelSpan(blocks.Kernel())
    for x in X:
        inverse.update(x)
        span.append(x)
    dense, vectors = inverse.to_dense(), span.vectors
    X[:] = 7.0
    np.testing.assert_array_equal(inverse.to_dense(), dense)
    np.testing.assert_array_equal(span.vectors, vectors)
    np.testing.assert_array_equal(vectors, before)
    dense[:] = 0.0
    assert inverse.to_dense().any()


def test_threads_share_a_block(rng):
    """2 threads, 400 updates each of one inverse: none is lost."""
    X = rng.standard_normal((800, 150))
    inverse = blocks.SymmetricInverse(ridge=1.0, size=150)
    threads = [
        threading.Thread(target=lambda part=part: [inverse.update(x) for x in part]) for part in (X[:400], X[400:])
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = np.linalg.inv(np.eye(150) + X.T @ X)
    np.testing.assert_allclose(inverse.to_dense(), expected, atol=1e-12)


def test_a_size_that_changes_during_a_call_is_an_error_and_nothing_worse(rng):
    """One thread grows and deletes, another multiplies: vectors of the size of the moment, or an error."""
    inverse, ended = blocks.SymmetricInverse(ridge=1.0, size=400), threading.Event()

    def change() -> None:
        for _ in range(300):
            inverse.grow(np.zeros(inverse.size), 1.0)
            inverse.delete(-1)
        ended.set()

    thread = threading.Thread(target=change)
    thread.start()
    while not ended.is_set():
        x = np.ones(inverse.size)
        try:
            np.testing.assert_array_equal(inverse.apply(x), x)
        except (ValueError, RuntimeError) as error:
            assert re.search("length|numbers|another thread", str(error))  # noqa: PT017
    thread.join()
    np.testing.assert_array_equal(inverse.to_dense(), np.eye(400))


# --- functions


@pytest.mark.parametrize("rank", [0, 3, 12])
def test_pivoted_cholesky_of_a_matrix(rng, rank):
    A = rng.standard_normal((12, rank))
    A = A @ A.T
    indices, L = blocks.pivoted_cholesky(A, tol=1e-12)
    assert len(indices) == len(L) == rank
    np.testing.assert_allclose(L @ L.T, A[np.ix_(indices, indices)], atol=1e-12)
    if rank:  # the largest diagonal entry that is left is next
        W = np.linalg.solve(L, A[indices])
        for j in range(rank):
            left = np.diag(A) - (W[:j] ** 2).sum(axis=0)
            assert left[indices[j]] >= left.max() * (1 - 1e-9)
    assert len(blocks.pivoted_cholesky(A, max_rank=2).indices) == min(2, rank)


def test_pivoted_cholesky_of_rows_is_that_of_their_matrix(rng):
    X, kernel = rng.standard_normal((60, 2)), blocks.Kernel("rbf", gamma=0.5)
    rows, matrix = blocks.pivoted_cholesky(X, kernel, max_rank=15), blocks.pivoted_cholesky(kernel(X, X), max_rank=15)
    np.testing.assert_array_equal(rows.indices, matrix.indices)
    np.testing.assert_allclose(rows.L, matrix.L, atol=1e-10)


def test_feature_vectors_are_those_of_brute_force_and_of_the_estimator(rng):
    X, kernel = rng.standard_normal((40, 2)), blocks.Kernel("rbf", gamma=0.5)
    indices, error = blocks.feature_vectors(X, kernel, 6, n_candidates=None, n_eval=None)
    expected, path = brute_force_fvs(kernel(X, X), 6)
    assert indices.tolist() == expected
    np.testing.assert_allclose(error, 1 - np.array(path), atol=1e-10)
    model = FeatureVectorSelector(n_components=6, gamma=0.5, n_candidates=None, n_eval=None).fit(X)
    assert indices.tolist() == model.basis_indices_.tolist()


def test_forward_selection_is_that_of_the_estimator(rng):
    X = rng.uniform(-3, 3, (200, 1))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(200)
    kernel = blocks.Kernel("rbf", gamma=1.0)
    found, model = blocks.forward_selection(X, y, kernel), OROLSRegressor(gamma=1.0).fit(X, y)
    assert found.indices.tolist() == model.basis_indices_.tolist()
    predicted = found.intercept + kernel.expand(X, X[found.indices], found.coef)
    np.testing.assert_allclose(predicted, model.predict(X), atol=1e-10)
    assert found.alpha == pytest.approx(model.alpha_, rel=1e-9)


def test_deletion_path_is_that_of_refitting(rng):
    X, kernel = rng.standard_normal((80, 2)), blocks.Kernel("rbf", gamma=0.5)
    y = np.sin(X[:, 0])
    K = kernel(X, X[:9])
    order = blocks.deletion_path(X, y, kernel, X[:9], alpha=0.1)
    expected = literal_deletion(K, K[:9], y[:, None], 0.1, 1e-9)
    assert order.tolist() == expected


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda X, k: blocks.pivoted_cholesky(X), r"A must be square without a kernel; got shape \(5, 2\)"),
        (lambda X, k: blocks.pivoted_cholesky(X, k, tol=2.0), "tol=2.0"),
        (lambda X, k: blocks.pivoted_cholesky(X, k, max_rank=0), "max_rank=0"),
        (lambda X, k: blocks.pivoted_cholesky(X, "rbf"), "kernel must be a kernsift.blocks.Kernel"),
        (lambda X, k: blocks.feature_vectors(X[0], k, 2), "X must have two dimensions"),
        (lambda X, k: blocks.feature_vectors(X * np.nan, k, 2), "X has NaN or infinity in row 0, column 0"),
        (lambda X, k: blocks.feature_vectors(X, k, 2, weights=-np.ones(5)), "weights must be 5 positive numbers"),
        (lambda X, k: blocks.forward_selection(X, np.ones(4), k), "y has 4 rows and X has 5"),
        (lambda X, k: blocks.forward_selection(X, np.ones(5), k, selection="any"), "selection 'any' is unknown"),
        (lambda X, k: blocks.deletion_path(X, np.ones(5), k, X, alpha=0.0), "alpha=0.0: give a positive ridge"),
        (lambda X, k: blocks.deletion_path(X, np.ones(5), k, X, alpha=1.0, target=6), "target=6"),
        (
            lambda X, k: blocks.deletion_path(X, np.ones(5), k, X[:, :1], alpha=1.0),
            "vectors have 1 features and X has 2",
        ),
    ],
)
def test_bad_input(rng, call, words):
    with pytest.raises(ValueError, match=words):
        call(rng.standard_normal((5, 2)), blocks.Kernel())
