"""Cores, rows and definitions that several tests of streams share."""

import tempfile
from pathlib import Path

import kernsift
import numpy as np
import oracles
from kernsift import _core

KERNELS = {
    "rbf": 0.5,
    "laplacian": 0.3,
    "matern32": 0.2,
    "matern52": 0.2,
    "polynomial": 0.2,
    "linear": 1.0,
}
KERNEL = oracles.kernel_function("rbf", 0.5, dtype=np.float64)
PLAIN = {"forgetting": 1.0, "linear": False}  # the papers' single model on a stream, which has other defaults


def core(engine="OnlineLSSVM", *, name="rbf", gamma=0.5, d=2, n_outputs=1, **settings):
    kernel = _core.Kernel(name, np.full(d, gamma), 3, 1.0, np.zeros(d))
    return getattr(_core, engine)(kernel, n_outputs, **settings)


def stream(n, rng, d=2, outputs=1, weights=False):
    X = rng.uniform(-2, 2, (n, d))
    columns = [np.sin(2 * X[:, 0]) * X[:, -1], np.cos(X[:, 0]), X[:, 0] ** 2, np.abs(X[:, -1]), X.sum(axis=1)]
    Y = np.column_stack(columns[:outputs]) + 0.1 * rng.standard_normal((n, outputs)) + 1.0
    v = rng.choice([0.0, 0.5, 1.0, 3.0], n, p=[0.05, 0.25, 0.5, 0.2]) if weights else np.ones(n)
    return X, np.ascontiguousarray(Y), v


def direct(design, basis, Y, v, alpha, penalty=None):
    """beta, bias and cost minimising sum v |y - b - k~'beta|^2 + alpha beta'K beta by lstsq in whitened form."""
    K = KERNEL(basis, basis)
    L = np.linalg.cholesky(K)
    Z = np.linalg.solve(L, design.T).T
    rows = np.sqrt(v)[:, None] * np.hstack([np.ones((len(Y), 1)), Z])
    ridge = np.sqrt(alpha) * np.hstack([np.zeros((len(K), 1)), np.eye(len(K))])
    A = np.vstack([rows, ridge])
    B = np.vstack([np.sqrt(v)[:, None] * Y, np.zeros((len(K), Y.shape[1]))])
    solution = np.linalg.lstsq(A, B, rcond=None)[0]
    return np.linalg.solve(L.T, solution[1:]), solution[0], ((B - A @ solution) ** 2).sum(axis=0)


def through_a_file(model):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        model.save(path)
        return kernsift.load(path)
