"""Transitions of a walk, and KernelLSTD's core held against the fixed point they have."""

from __future__ import annotations

import numpy as np
import oracles
from kernsift import _core

from .state import inverse_P


def chain(n, rng, length=50, cut=0.02):
    """A walk over `length` states that prefers to go right, ends at the right end, and is cut off now and then."""
    S, r, S_next, terminal, start = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n, bool), np.zeros(n, bool)
    state, begin = length // 2, True
    for t in range(n):
        S[t], start[t] = state, begin
        state = int(np.clip(state + rng.choice([-2, -1, 1, 2, 3]), 0, length - 1))
        S_next[t], r[t] = state, np.sin(state / 7) + 0.1 * rng.standard_normal()
        terminal[t] = state == length - 1
        begin = bool(terminal[t] or rng.random() < cut)
        if begin:
            state = int(rng.integers(0, length - 1))
    scale = 10.0 / length
    return oracles.Transitions(scale * S[:, None], r, scale * S_next[:, None], terminal, start)


def core(data, *, gamma=1.0, decay=0.0, admission="novelty", name="rbf", **settings):
    d = data.S.shape[1]
    kernel = _core.Kernel(name, np.full(d, gamma), 3, 1.0, np.zeros(d))
    return _core.KernelLSTD(kernel, trace_decay=decay, admission=admission, **settings)


def learn(model, data, t, stop=None):
    part = slice(t, t + 1 if stop is None else stop)
    return model.learn(data.S[part], data.r[part], data.S_next[part], data.terminal[part], data.start[part])


def assert_is_the_fixed_point(model, batch, data, at, tol):
    w, P = batch.solve(data)
    np.testing.assert_array_equal(2 * model.indices + model.is_next, batch.identifiers)
    truth = batch.kernel(at, batch.elements(data)) @ w
    scale = 1e-12 + abs(truth).max(initial=0.0)
    assert abs(model.predict(at) - truth).max() <= tol * scale
    if len(w):
        trace = batch.Z[-1] if batch.residual else batch.trace
        np.testing.assert_allclose(model.trace, trace, atol=tol * max(1.0, abs(trace).max()))
        # U through the identity it satisfies: cond(P) stays below 1e6 here
        assert abs(inverse_P(model) @ P - np.eye(len(w))).max() < 1e-6
    return abs(model.predict(at) - truth).max() / scale
