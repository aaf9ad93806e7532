"""The header's arithmetic in numpy, operation by operation, to say how far a target will be off."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Array
from ..base.steps import operate
from ._deviation import Deviation
from ._learner import Learner
from ._model import Model, Term, Warping

# Rows learned in the rehearsal.
_STEPS = 200
# Squared distance at which a Matern kernel is zero in either type: its polynomial factor stays finite.
FAR = 1e6


class Arithmetic:
    """Constants of a model in the target's type, and what the header computes with them."""

    def __init__(self, model: Model, dtype: str) -> None:
        self.model, self.dtype = model, np.dtype(dtype).type
        self.terms = [self._of(term, dtype) for term in model.terms]

    @staticmethod
    def _of(term: Term, dtype: str) -> dict[str, Any]:
        name = term.kernel.name
        if name == "linear":
            return {"kind": name, "weights": term.weights.T}
        if name == "polynomial":
            k = term.kernel
            return {
                "kind": name,
                "vectors": term.vectors * k.gamma,
                "coef": term.coef,
                "degree": k.degree,
                "coef0": k.coef0,
            }
        form = term.stationary_form(dtype)
        warping = {} if form.warping is None else form.warping._asdict()
        return {
            "kind": name,
            "centre": form.centre,
            "scale": form.scale,
            "vectors": form.vectors,
            "coef": term.coef,
            **warping,
        }

    @property
    def constants(self) -> list[Array]:
        """All numbers of the header."""
        found = [self.model.intercept, self.model.constants_of_steps]
        found += [] if self.model.bounds is None else [self.model.bounds]
        for term in self.terms:
            found += [np.asarray(v, dtype=np.float64) for v in term.values() if not isinstance(v, str)]
        return found

    @property
    def levels(self) -> list[tuple[Any, list[Any]]]:
        """Names of columns of categories, and these in the target's type."""
        steps = self.model.steps
        if steps is None:
            return []
        return [
            (steps.names[coordinate.column], [v if v is None else self.dtype(v) for v in how[0]])
            for coordinate in steps.columns
            for kind, *how in coordinate.operations
            if kind == "code"
        ]

    def encode(self, columns: NDArray[Any]) -> NDArray[Any]:
        """The coordinates of rows as they are given, in the target's type."""
        if self.model.steps is None:
            return columns
        out = np.empty((len(columns), self.model.n_features), self.dtype)
        for k, coordinate in enumerate(self.model.steps.columns):
            t = columns[:, coordinate.column]
            for kind, *how in coordinate.operations:
                if kind == "code":
                    how[0] = tuple(v if v is None else float(self.dtype(v)) for v in how[0])
                t = operate((kind, *how), t, self.model.steps.names[coordinate.column]).astype(self.dtype)
            out[:, k] = t
        return out

    def kernel_row(self, term: dict[str, Any], i: int, x: NDArray[Any]) -> NDArray[Any]:
        """k of vector i with every row of x, summed over the features in order."""
        real, t = self.dtype, np.zeros(len(x), self.dtype)
        vector = term["vectors"][i].astype(real)
        if term["kind"] == "polynomial":
            for j, v in enumerate(vector):
                t += v * x[:, j]
            t += real(term["coef0"])
            power = np.ones_like(t)
            for _ in range(term["degree"]):
                power = power * t
            return power
        for j, v in enumerate(vector):
            u = self._coordinate(term, j, x[:, j]) - v
            t += np.abs(u) if term["kind"] == "laplacian" else u * u
        if term["kind"] in ("rbf", "laplacian"):
            return np.exp(-t)
        t = np.minimum(t, real(FAR))
        s = np.sqrt(real(3 if term["kind"] == "matern32" else 5) * t)
        factor = real(1) + s
        if term["kind"] == "matern52":
            factor += real(5) / real(3) * t
        return factor * np.exp(-s)

    def _coordinate(self, term: dict[str, Any], j: int, x: NDArray[Any]) -> NDArray[Any]:
        """Coordinate j of rows with this feature."""
        real = self.dtype
        u, scale = x - real(term["centre"][j]), real(term["scale"][j])
        if "slopes" not in term:
            return u * scale
        z = np.full_like(u, -scale)
        for knot, per_length, slope in zip(*(term[name][j] for name in Warping._fields), strict=True):
            z += real(slope) * np.clip((u - real(knot)) * real(per_length), real(0), real(1))
        return z

    def scores(self, x: NDArray[Any]) -> Array:
        """Outputs of the header for rows in its type."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            out = np.tile(self.model.intercept.astype(self.dtype), (len(x), 1))
            for term in self.terms:
                if term["kind"] == "linear":
                    for j, w in enumerate(term["weights"].T.astype(self.dtype)):
                        out += x[:, [j]] * w
                    continue
                coef = term["coef"].astype(self.dtype)
                for i in range(len(coef)):
                    out += self.kernel_row(term, i, x)[:, None] * coef[i]
            if self.model.bounds is not None:
                out = np.clip(out, *self.model.bounds.T.astype(self.dtype))
        return out.astype(np.float64)

    def deviations(self, deviation: Deviation, x: NDArray[Any]) -> Array:
        """Standard deviations of the header for rows in its type."""
        real, term = self.dtype, self.terms[0]
        L, Q = deviation.L.astype(real), deviation.Q.astype(real)
        w = np.empty((len(x), len(L)), real)
        level: Any = None
        if deviation.noise is not None:
            f = self.scores(x).astype(real)
            level = deviation.noise.intercept.astype(real) + f @ deviation.noise.slopes.astype(real)
            if deviation.noise.along is not None:
                level = level + x @ deviation.noise.along.astype(real)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            for i in range(len(L)):
                t = self.kernel_row(term, i, x)
                if deviation.noise is not None:
                    level = level + t[:, None] * deviation.noise.coef[i].astype(real)
                if deviation.spread.prior:
                    for j in range(i):
                        t = t - L[i, j] * w[:, j]
                    t = t / L[i, i]
                w[:, i] = t
            u = Q[:, 0] + w @ Q[:, 1:].T
            if deviation.along is not None:
                u = u + x @ deviation.along.T.astype(real)
            total = real(1) + u**2 @ deviation.of_output.astype(real)
            if deviation.spread.prior:
                rest = np.maximum(real(1) - (w**2).sum(axis=1), real(0))
                total = total + real(deviation.spread.prior) * rest[:, None]
            out = np.sqrt(total) * deviation.scale.astype(real)
            if deviation.noise is not None:
                low, high = deviation.noise.low.astype(real), deviation.noise.high.astype(real)
                out = out * np.exp(real(0.5) * np.clip(level, low, high))
        return out.astype(np.float64)

    # --- with a state that learns ---

    def coordinates(self, learner: Learner, x: NDArray[Any]) -> NDArray[Any]:
        """w = [1; L^-1 k], (n, dimension)."""
        term, L = self._kernel_term(), learner.L.astype(self.dtype)
        w = np.ones((len(x), learner.dimension), self.dtype)
        kernels = w[:, learner.bias :]
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            for i in range(len(L)):
                t = self.kernel_row(term, i, x)
                for j in range(i):
                    t = t - L[i, j] * kernels[:, j]
                kernels[:, i] = t / L[i, i]
        return w

    def _kernel_term(self) -> dict[str, Any]:
        """Return the one term, a linear kernel as a polynomial of degree one: L belongs to its vectors."""
        term = self.terms[0]
        if term["kind"] != "linear":
            return term
        source = self.model.terms[0]
        return {"kind": "polynomial", "vectors": source.vectors, "coef": source.coef, "degree": 1, "coef0": 0.0}

    def scores_from(self, learner: Learner, x: NDArray[Any]) -> Array:
        """Outputs of the header that learns, before it does."""
        w = self.coordinates(learner, x)
        return (w @ learner.theta.astype(self.dtype)).astype(np.float64)

    def learning_error(self, learner: Learner, rows: NDArray[Any]) -> tuple[int, float]:
        """Learn rows in the target's type and in float64; return how many, and the difference that comes of it."""
        rng = np.random.default_rng(0)
        which = rng.permutation(np.resize(np.arange(len(rows)), _STEPS))
        truth = self.model.scores(rows.astype(np.float64))
        noise = np.sqrt(learner.noise) * rng.standard_normal((_STEPS, truth.shape[1]))
        precise = Arithmetic(self.model, "float64")
        ends = []
        for arithmetic in (self, precise):
            w = arithmetic.coordinates(learner, rows.astype(arithmetic.dtype))
            targets = (truth[which] + noise).astype(arithmetic.dtype)
            theta = arithmetic._learned(learner, w[which], targets)
            ends.append((w @ theta).astype(np.float64))
        scale = float(np.abs(ends[1]).max()) or 1.0
        return _STEPS, float(np.abs(ends[0] - ends[1]).max()) / scale

    def _learned(self, learner: Learner, W: NDArray[Any], Y: NDArray[Any]) -> NDArray[Any]:
        """Coefficients after Bierman's update with every row, weight one."""
        U, d = (f.astype(self.dtype) for f in learner.factors)
        theta = learner.theta.astype(self.dtype)
        for w, y in zip(W, Y, strict=True):
            f = U.T @ w
            v = d * f
            b = np.zeros_like(v)
            before = self.dtype(1)
            for j in range(len(w)):
                now = before + v[j] * f[j]
                d[j] *= before / now
                column = U[:j, j].copy()
                U[:j, j] -= b[:j] * (f[j] / before)
                b[:j] += column * v[j]
                b[j] = v[j]
                before = now
            theta += np.outer(b, (y - w @ theta) / before)
        return theta
