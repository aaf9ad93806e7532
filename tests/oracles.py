"""The definitions, dense and literal, in numpy: what the core is tested against.

Nothing here is recursive in the inverse and nothing is shared with the core: every state is the direct
minimiser of

    J(beta, b) = sum_i v_i |y_i - b - k~_i' beta|^2 + alpha beta' K beta                            (1.1)

for the design K~ rebuilt from its definition.  Equation tags in brackets without a paper's name are those
of the specification; `JP` is Jung & Polani, `JPs` their slides, `Engel` is Engel, Mannor & Meir (2004).

Arithmetic: everything runs in one dtype, by default numpy's long double (64 bits of mantissa on x86, 113
on most 64-bit ARM Linux, plain double on Windows and macOS-ARM: see `EXTENDED`).  The problem is always
posed in an orthonormal basis of the dictionary's span and solved by a row-sorted, column-pivoted
Householder QR, so that the oracle loses to neither a nearly singular K nor a small alpha.

Shapes: n rows, t of them with positive weight, d features, c outputs, m kernels, b = 1 with a bias and 0
without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray
KernelFunction = Callable[[Array, Array], Array]

#: Outcome codes of one row (the core's `learn` returns them).
REJECTED_NOVELTY, REJECTED_USEFULNESS, ADMITTED, SWAPPED, BOUNCED, REFUSED, IGNORED = range(7)
#: A row becomes a kernel where delta^2 exceeds this part of k* (k* + sum_j a_j^2 k_jj): what a double resolves.
RESOLUTION = 1e-14
#: Pruning scores this close (relative to the smallest) are a tie and fall to the oldest element,
TIE = 1e-9
#: and so are all below this part of the squares of the targets: costs, in double, know no less.
NOTHING = 1e-20
#: Whether long double is wider than double here.
EXTENDED = bool(np.finfo(np.longdouble).eps < 1e-18)


# ------------------------------------------------------------------------------------------------------------
# Kernels
# ------------------------------------------------------------------------------------------------------------


def kernel_matrix(name: str, X: Array, Y: Array, gamma: Any = 1.0, degree: int = 3, coef0: float = 1.0) -> Array:
    """k(x_i, y_j) (n, m) of X (n, d) and Y (m, d), by explicit differences, feature by feature.

    gamma is a number or one width per feature (d,).  The result has the dtype of the inputs (at least
    double).
    """
    X, Y = np.asarray(X), np.asarray(Y)
    dtype = np.result_type(X, Y, np.float64)
    X, Y = X.astype(dtype), Y.astype(dtype)
    d = X.shape[1]
    width = np.broadcast_to(np.asarray(gamma, dtype=dtype), (d,))

    r1 = np.zeros((len(X), len(Y)), dtype=dtype)  # sum_j gamma_j |x_j - y_j|
    r2 = np.zeros_like(r1)  # sum_j gamma_j (x_j - y_j)^2
    weighted, plain = np.zeros_like(r1), np.zeros_like(r1)  # sum_j gamma_j x_j y_j and x'y
    for j in range(d):
        difference = X[:, j][:, None] - Y[:, j][None, :]
        product = X[:, j][:, None] * Y[:, j][None, :]
        r1 += width[j] * abs(difference)
        r2 += width[j] * difference * difference
        weighted += width[j] * product
        plain += product

    one, three, five = dtype.type(1), dtype.type(3), dtype.type(5)
    if name == "rbf":
        return np.exp(-r2)
    if name == "laplacian":
        return np.exp(-r1)
    if name == "matern32":
        s = np.sqrt(three * r2)
        return (one + s) * np.exp(-s)
    if name == "matern52":
        s = np.sqrt(five * r2)
        return (one + s + s * s / three) * np.exp(-s)
    if name == "polynomial":
        base, value = weighted + dtype.type(coef0), np.ones_like(weighted)
        for _ in range(int(degree)):
            value = value * base
        return value
    if name == "linear":
        return plain
    raise ValueError(f"unknown kernel {name!r}")


def kernel_function(
    name: str, gamma: Any = 1.0, degree: int = 3, coef0: float = 1.0, dtype: Any = np.longdouble
) -> KernelFunction:
    """The callable (X, Y) -> (n, m) that the models below take; `kernel_matrix` in the given dtype."""

    def kernel(X: Array, Y: Array) -> Array:
        return kernel_matrix(name, np.asarray(X, dtype), np.asarray(Y, dtype), gamma, degree, coef0)

    return kernel


def rounded(kernel: KernelFunction) -> KernelFunction:
    """The same kernel with values rounded to double.

    The distance between a model with `kernel` and one with `rounded(kernel)` is what half a unit in the
    last place of the kernel alone does: no method in double can be expected to come closer to the oracle
    than that.
    """

    def coarse(X: Array, Y: Array) -> Array:
        values = kernel(X, Y)
        return values.astype(np.float64).astype(values.dtype)

    return coarse


# ------------------------------------------------------------------------------------------------------------
# Dense linear algebra in any float dtype (LAPACK stops at double)
# ------------------------------------------------------------------------------------------------------------


def cholesky(K: Array) -> Array:
    """Lower L (m, m) with K = L L', column by column; LinAlgError when a pivot is not positive."""
    m = len(K)
    L = np.zeros_like(K)
    for j in range(m):
        column = K[j:, j] - L[j:, :j] @ L[j, :j]
        if not column[0] > 0:
            raise np.linalg.LinAlgError(f"pivot {j} of K is {column[0]}: not positive definite")
        L[j:, j] = column / np.sqrt(column[0])
    return L


def solve_lower(L: Array, B: Array) -> Array:
    """L^-1 B for lower L (m, m) and B (m,) or (m, p): forward substitution."""
    X = np.array(B, dtype=np.result_type(L, B))
    for i in range(len(L)):
        X[i] = (X[i] - L[i, :i] @ X[:i]) / L[i, i]
    return X


def solve_upper(R: Array, B: Array) -> Array:
    """R^-1 B for upper R (m, m) and B (m,) or (m, p): back substitution."""
    X = np.array(B, dtype=np.result_type(R, B))
    for i in range(len(R) - 1, -1, -1):
        X[i] = (X[i] - R[i, i + 1 :] @ X[i + 1 :]) / R[i, i]
    return X


def householder_qr(B: Array, Y: Array) -> tuple[Array, Array, Array, Array]:
    """Q'B[:, order] = [R; 0] and Q'Y = [top; rest] for B (r, p), Y (r, c), r >= p.

    Rows are sorted by size and columns pivoted: the error of each row is then small against that row (Cox &
    Higham), which keeps the light rows sqrt(alpha) [0 I] of (1.1) exact beside heavy data rows.
    """
    p = B.shape[1]
    order = np.arange(p)
    if p == 0:
        return np.zeros((0, 0), dtype=B.dtype), order, Y[:0].copy(), Y.copy()
    A = np.hstack([B, Y])[np.argsort(-abs(B).max(axis=1), kind="stable")]
    for j in range(p):
        pivot = j + int(np.argmax((A[j:, j:p] ** 2).sum(axis=0)))
        A[:, [j, pivot]] = A[:, [pivot, j]]
        order[[j, pivot]] = order[[pivot, j]]
        v = A[j:, j].copy()
        norm = np.sqrt(v @ v)
        if norm == 0:
            raise np.linalg.LinAlgError(f"the design has rank {j} of {p}")
        v[0] += np.copysign(norm, v[0])
        v /= np.sqrt(v @ v)
        A[j:, j:] -= np.multiply.outer(2 * v, v @ A[j:, j:])
        A[j + 1 :, j] = 0
    return A[:p, :p], order, A[:p, p:], A[p:, p:]


# ------------------------------------------------------------------------------------------------------------
# (1.1) solved directly
# ------------------------------------------------------------------------------------------------------------


@dataclass
class Minimum:
    """Minimiser of sum_i v_i |y_i - u_i b - z_i'theta|^2 + alpha |theta|^2, (1.1) with K = L L', z = L^-1 k~.

    theta (m, c), bias (b, c); C (b+m, b+m) = ([U Z]'V[U Z] + alpha diag(0, I))^-1, the bias coordinate first;
    cost, rss (c,); dof = trace of the hat matrix; log_det = -log|C|.
    """

    theta: Array
    bias: Array
    C: Array
    cost: Array
    rss: Array
    dof: Any
    log_det: Any


def minimise(Z: Array, U: Array, Y: Array, v: Array, alpha: Any) -> Minimum:
    """Solve for Z (t, m), U (t, b) the unpenalised columns, Y (t, c), v (t,) by one QR of the augmented
    system."""
    m, b, dtype = Z.shape[1], U.shape[1], Z.dtype
    root = np.sqrt(v)[:, None]
    data, target = root * np.hstack([U, Z]), root * Y
    ridge = np.hstack([np.zeros((m, b), dtype), np.sqrt(dtype.type(alpha)) * np.eye(m, dtype=dtype)])
    B = np.vstack([data, ridge])
    R, order, top, rest = householder_qr(B, np.vstack([target, np.zeros((m, Y.shape[1]), dtype)]))
    solution = np.zeros((b + m, Y.shape[1]), dtype)
    solution[order] = solve_upper(R, top)
    R_inverse = np.zeros((b + m, b + m), dtype)
    R_inverse[order] = solve_upper(R, np.eye(b + m, dtype=dtype))
    return Minimum(
        theta=solution[b:],
        bias=solution[:b],
        C=R_inverse @ R_inverse.T,
        cost=(rest**2).sum(axis=0),
        rss=((target - data @ solution) ** 2).sum(axis=0),
        dof=((data @ R_inverse) ** 2).sum(),
        log_det=2 * np.log(abs(np.diag(R))).sum(),
    )


@dataclass
class Solution:
    """A state of the online model by direct solution; shapes in the module's letters.

    `inverse_P` (m, m) is P^-1 of the kernel coefficients with the bias eliminated.  `cost` (xi), `rss`,
    `gcv`, `noise_variance`, `signal_scale`, `log_evidence` are (c,), one a output.  `n` = t - b.
    """

    kernel: KernelFunction
    alpha: Any
    t: int
    n: int
    indices: Array  # (m,) row numbers
    basis: Array  # (m, d)
    K: Array  # (m, m)
    L: Array  # (m, m)
    theta: Array  # (m, c)
    beta: Array  # (m, c)
    bias: Array  # (c,), zeros without a bias
    C: Array  # (b+m, b+m)
    inverse_P: Array  # (m, m)
    cost: Array
    rss: Array
    dof: Any
    gcv: Array  # t rss/(t - dof)^2
    log_det: Any  # log|Z'VZ + alpha diag(0, I)|, bias coordinate included
    noise_variance: Array  # xi/n
    signal_scale: Array  # xi/(alpha n)
    log_evidence: Array

    def coordinates(self, X: Array) -> Array:
        """w(x) = L^-1 k(x), (m, p) for X (p, d)."""
        if len(self.L) == 0:
            return np.zeros((0, len(X)), self.L.dtype)
        return solve_lower(self.L, self.kernel(self.basis, X))

    def predict(self, X: Array) -> Array:
        """f(x) = b + k(x)'beta, (p, c), as b + w(x)'theta: large coefficients of near neighbours cancel
        in k'beta."""
        return self.bias + self.coordinates(X).T @ self.theta

    def variance(self, X: Array) -> tuple[Array, Array]:
        """w'Cw (bias coordinate 1 included) and delta(x) >= 0, both (p,), in units of the prior (1.9)."""
        w = self.coordinates(X)
        prior = np.array([self.kernel(x[None], x[None])[0, 0] for x in np.asarray(X)], dtype=w.dtype)
        delta = np.maximum(prior - (w * w).sum(axis=0), 0)
        if len(self.C) > len(self.L):
            w = np.vstack([np.ones((1, w.shape[1]), w.dtype), w])
        return (w * (self.C @ w)).sum(axis=0), delta

    def std(self, X: Array) -> Array:
        """Standard deviation (p, c) of a new observation at X: s2 (alpha w'Cw + delta + alpha), (1.9)."""
        inside, delta = self.variance(X)
        return np.sqrt(np.multiply.outer(self.alpha * inside + delta + self.alpha, self.signal_scale))


def rkhs_error(beta: Array, reference: Array, K: Array) -> float:
    """|f - g|/|g| in the RKHS norm, for coefficients beta and reference (m, c) on one dictionary."""
    L = cholesky(np.asarray(K, np.longdouble))
    return float(np.sqrt(((L.T @ (beta - reference)) ** 2).sum() / ((L.T @ reference) ** 2).sum()))


# ------------------------------------------------------------------------------------------------------------
# The online model for given decisions
# ------------------------------------------------------------------------------------------------------------


class BatchModel:
    """The model (1.1) for a stream and its decision log, the design rebuilt row by row from the definitions.

    Row i of K~ holds the inner products of the stored approximation of phi(x_i) with the dictionary:
    exact when the row is processed.  A new element x* appends the column K~ a*, a* = K^-1 k(x*) (exact for
    its own row); deleting an element deletes its column.

    representation
        "coefficients" (default) stores the approximations themselves, A (t, m) with K~ = A K  [JP 6]: a new
        element appends a zero ("sets to zero those entries"), and deleting element j projects it on the
        others.  Then Z = K~ L^-T = A L exactly, zero where it must be zero, which keeps the digits at small
        alpha.
        "design" stores K~ itself, to the letter of the sentence above; same model, fewer digits.
    compress
        Replace the rows seen by the triangular factor of sqrt(V) [1 Z Y] whenever they are many: both
        updates of the design are right-multiplications, so (1.1) does not change.  For a checkpoint after
        every event.

    Weight-0 rows are not part of the design; row numbers count them.
    """

    def __init__(
        self,
        kernel: KernelFunction,
        alpha: float,
        *,
        fit_intercept: bool = True,
        n_outputs: int = 1,
        dtype: Any = np.longdouble,
        representation: str = "coefficients",
        compress: bool = False,
    ) -> None:
        if representation not in ("coefficients", "design"):
            raise ValueError(f"representation={representation!r}")
        self.kernel, self.alpha, self.fit_intercept = kernel, alpha, fit_intercept
        self.dtype, self.representation, self.compress = np.dtype(dtype), representation, compress
        self.n_seen = self.t = 0
        self.sum_weight = self.sum_log_weight = self.dtype.type(0)
        self.indices: list[int] = []
        self.basis = np.zeros((0, 0), self.dtype)
        self.K = np.zeros((0, 0), self.dtype)
        self.L = self.K
        self._size = 0  # rows stored: t, or fewer once compressed
        self._rows = np.zeros((64, 8), self.dtype)  # A or K~
        self._unit = np.zeros((64, 1), self.dtype)  # the constant column
        self._targets = np.zeros((64, n_outputs), self.dtype)
        self._weights = np.zeros(64, self.dtype)

    # -- the stream

    def learn(self, X: Array, Y: Array, v: Array | None, outcome: Array, victim: Array) -> BatchModel:
        """Replay rows X (n, d), Y (n, c) or (n,), v (n,) or None with the log outcome (n,), victim (n,)."""
        for _ in self._walk(X, Y, v, outcome, victim, ()):
            pass
        return self

    def replay(
        self,
        X: Array,
        Y: Array,
        v: Array | None,
        outcome: Array,
        victim: Array,
        at: Iterable[int] | None = None,
    ) -> Iterator[tuple[int, Solution]]:
        """As `learn`, yielding (i, solution) after each row i of `at`; None: after every change of the
        dictionary and after the last row.  i counts from the start of this call."""
        if at is None:
            changed = np.isin(outcome, (ADMITTED, SWAPPED))
            at = [*np.flatnonzero(changed), len(X) - 1]
        for i in self._walk(X, Y, v, outcome, victim, at):
            yield i, self.solve()

    def _walk(
        self, X: Array, Y: Array, v: Array | None, outcome: Array, victim: Array, at: Iterable[int]
    ) -> Iterator[int]:
        X = np.asarray(X, self.dtype)
        Y = np.asarray(Y, self.dtype).reshape(len(X), self._targets.shape[1])
        v = np.ones(len(X), self.dtype) if v is None else np.asarray(v, self.dtype)
        if self.n_seen == 0:
            self.basis = np.zeros((0, X.shape[1]), self.dtype)
        stops: set[int] = {int(i) for i in at}
        pending: list[int] = []
        for i in range(len(X)):
            if outcome[i] != IGNORED:
                if not v[i] > 0:
                    raise ValueError(f"row {i}: weight {v[i]}, outcome {outcome[i]}")
                if outcome[i] in (ADMITTED, SWAPPED):
                    self._append(X[pending], Y[pending], v[pending])
                    pending = []
                    self._grow(X[i], Y[i], v[i])
                    if outcome[i] == SWAPPED:
                        self._delete(int(victim[i]))
                else:
                    pending.append(i)
            self.n_seen += 1
            if i in stops or len(pending) >= 256 or i == len(X) - 1:
                self._append(X[pending], Y[pending], v[pending])
                pending = []
            if i in stops:
                yield i

    # -- the design

    @property
    def coefficients(self) -> Array:
        """A (t, m): the stored approximation of phi(x_i) is sum_j A_ij phi(x~_j)  [JP 4, JP 6]."""
        rows = self._rows[: self._size, : len(self.indices)]
        if self.representation == "coefficients":
            return rows
        return solve_upper(self.L.T, solve_lower(self.L, rows.T)).T

    @property
    def design(self) -> Array:
        """K~ (t, m) of (1.1)."""
        rows = self._rows[: self._size, : len(self.indices)]
        return rows @ self.K if self.representation == "coefficients" else rows

    @property
    def orthonormal_design(self) -> Array:
        """Z = K~ L^-T (t, m)."""
        rows = self._rows[: self._size, : len(self.indices)]
        return rows @ self.L if self.representation == "coefficients" else solve_lower(self.L, rows.T).T

    def _set_dictionary(self, basis: Array, indices: list[int]) -> None:
        self.basis, self.indices = basis, indices
        self.K = np.asarray(self.kernel(basis, basis), self.dtype)
        self.L = cholesky(self.K)

    def _reserve(self, rows: int, columns: int) -> None:
        more = max(0, self._size + rows - len(self._rows))
        if more or columns > self._rows.shape[1]:
            more = max(more, len(self._rows)) if more else 0
            wider = max(0, 2 * columns - self._rows.shape[1])
            self._rows = np.pad(self._rows, ((0, more), (0, wider)))
            self._unit = np.pad(self._unit, ((0, more), (0, 0)))
            self._targets = np.pad(self._targets, ((0, more), (0, 0)))
            self._weights = np.pad(self._weights, (0, more))

    def _store(self, rows: Array, Y: Array, v: Array) -> None:
        new, m = slice(self._size, self._size + len(rows)), rows.shape[1]
        self._reserve(len(rows), m)
        self._rows[new, :m], self._unit[new], self._targets[new], self._weights[new] = rows, 1, Y, v
        self._size += len(rows)
        self.t += len(rows)
        self.sum_weight += v.sum()
        self.sum_log_weight += np.log(v).sum()

    def _append(self, X: Array, Y: Array, v: Array) -> None:
        """Rows with exact kernels k(x_i) (p, m)."""
        if len(X) == 0:
            return
        k = np.asarray(self.kernel(self.basis, X), self.dtype)
        if self.representation == "coefficients":
            k = solve_upper(self.L.T, solve_lower(self.L, k))
        self._store(k.T, Y, v)
        if self.compress and self._size > 2 * (len(self.indices) + self._targets.shape[1]) + 16:
            self._compress()

    def _grow(self, x: Array, y: Array, v: Any) -> None:
        """The column K~ a* for the earlier rows, then the row of x itself, exact on the larger dictionary."""
        m = len(self.indices)
        self._reserve(1, m + 1)
        earlier = self._rows[: self._size, :m]
        if self.representation == "coefficients":
            self._rows[: self._size, m] = 0
        else:
            k = np.asarray(self.kernel(self.basis, x[None]), self.dtype)[:, 0]
            self._rows[: self._size, m] = earlier @ solve_upper(self.L.T, solve_lower(self.L, k))
        self._set_dictionary(np.vstack([self.basis, x]), [*self.indices, self.n_seen])
        own = np.eye(m + 1, dtype=self.dtype)[m] if self.representation == "coefficients" else self.K[m]
        self._store(own[None], y[None], np.array([v]))

    def _delete(self, row: int) -> None:
        """Delete the element that came with this row number: its column of K~ goes."""
        j, m = self.indices.index(row), len(self.indices)
        keep = [i for i in range(m) if i != j]
        gone, k = self._rows[: self._size, j].copy(), self.K[keep, j]
        self._rows[: self._size, j : m - 1] = self._rows[: self._size, j + 1 : m].copy()
        self._set_dictionary(self.basis[keep], [self.indices[i] for i in keep])
        if self.representation == "coefficients":
            share = solve_upper(self.L.T, solve_lower(self.L, k))
            self._rows[: self._size, : m - 1] += np.multiply.outer(gone, share)

    def _compress(self) -> None:
        """sqrt(V) [1 Z Y] = Q [R; 0]: keep R's rows, with weight one."""
        m, size = len(self.indices), self._size
        whole = np.hstack([self._unit[:size], self.orthonormal_design, self._targets[:size]])
        whole = np.sqrt(self._weights[:size])[:, None] * whole
        R, order, _, _ = householder_qr(whole, whole[:, :0])
        rows = np.zeros_like(R)
        rows[:, order] = R
        Z, self._size = rows[:, 1 : 1 + m], len(rows)
        self._unit[: self._size], self._targets[: self._size] = rows[:, :1], rows[:, 1 + m :]
        self._weights[: self._size] = 1
        back = solve_upper(self.L.T, Z.T).T if self.representation == "coefficients" else Z @ self.L.T
        self._rows[: self._size, :m] = back

    # -- the state

    def solve(self) -> Solution:
        """The minimiser of (1.1) now, and what follows from it."""
        b = 1 if self.fit_intercept and self.t > 0 else 0
        m, n = len(self.indices), self.t - b
        Y, v = self._targets[: self._size], self._weights[: self._size]
        best = minimise(self.orthonormal_design, self._unit[: self._size, :b], Y, v, self.alpha)
        half = solve_upper(self.L.T, np.eye(m, dtype=self.dtype))  # L^-T
        alpha = self.dtype.type(self.alpha)
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = best.cost / (alpha * n)
            evidence = -0.5 * (
                best.cost / (alpha * scale)
                + n * np.log(scale)
                + (n - m) * np.log(alpha)
                + best.log_det
                + n * np.log(2 * np.pi * self.dtype.type(1))
                - self.sum_log_weight
            )
            return Solution(
                kernel=self.kernel,
                alpha=alpha,
                t=self.t,
                n=n,
                indices=np.array(self.indices, dtype=np.int64),
                basis=self.basis,
                K=self.K,
                L=self.L,
                theta=best.theta,
                beta=half @ best.theta,
                bias=best.bias.sum(axis=0),
                C=best.C,
                inverse_P=half @ best.C[b:, b:] @ half.T,
                cost=best.cost,
                rss=best.rss,
                dof=best.dof,
                gcv=self.t * best.rss / (self.t - best.dof) ** 2,
                log_det=best.log_det,
                noise_variance=best.cost / n,
                signal_scale=scale,
                log_evidence=evidence,
            )


# ------------------------------------------------------------------------------------------------------------
# The online model that decides by definition
# ------------------------------------------------------------------------------------------------------------


@dataclass
class Decision:
    """What `PaperModel` found at one row.

    delta is the squared RKHS distance of x to the span; use the decrease of the minimal cost by growing
    (nan when not looked at); use_by_costs the same as a plain difference of two costs; scores (m+1,) the
    increases of the cost when one element of the grown dictionary is deleted, the candidate last (None
    below the cap); margin the smallest relative distance of any comparison made from falling the other
    way.
    """

    row: int
    outcome: int
    victim: int
    prior: Any
    delta: Any
    use: Any
    use_by_costs: Any
    scores: Array | None
    variance: Any
    margin: float


class PaperModel:
    """Online LS-SVM in the slowest way: every decision from fresh solutions of (1.1), K~ as it is defined.

    Same parameters as the estimator; `max_basis=0` is no cap.  `records` holds a `Decision` a row.
    """

    def __init__(
        self,
        kernel: KernelFunction,
        alpha: float,
        *,
        novelty_tol: float = 1e-2,
        usefulness_tol: float = 1e-4,
        admission: str = "product",
        max_basis: int = 0,
        hysteresis: float = 1.0,
        fit_intercept: bool = True,
        n_outputs: int = 1,
        dtype: Any = np.longdouble,
    ) -> None:
        if admission not in ("product", "two-part", "per-sample", "novelty"):
            raise ValueError(f"admission={admission!r}")
        self.kernel, self.alpha, self.admission = kernel, alpha, admission
        self.novelty_tol, self.usefulness_tol, self.max_basis = novelty_tol, usefulness_tol, max_basis
        self.hysteresis, self.fit_intercept, self.dtype = hysteresis, fit_intercept, np.dtype(dtype)
        self.n_seen = 0
        self.indices: list[int] = []
        self.basis = np.zeros((0, 0), self.dtype)
        self.design = np.zeros((0, 0), self.dtype)  # K~ (t, m)
        self.targets = np.zeros((0, n_outputs), self.dtype)
        self.weights = np.zeros(0, self.dtype)
        self.records: list[Decision] = []

    # -- direct solutions

    def fit(self, design: Array, basis: Array, Y: Array, v: Array) -> tuple[Array, Array, Array]:
        """beta (m, c), bias (c,), cost (c,) minimising (1.1) for K~ = design (t, m)."""
        K = np.asarray(self.kernel(basis, basis), self.dtype)
        L = cholesky(K)
        unit = np.ones((len(Y), 1 if self.fit_intercept and len(Y) else 0), self.dtype)
        best = minimise(solve_lower(L, design.T).T, unit, Y, v, self.alpha)
        return solve_upper(L.T, best.theta), best.bias.sum(axis=0), best.cost

    def cost_increase(
        self, design: Array, basis: Array, v: Array, beta: Array, bias: Array, worse: Array, worse_bias: Array
    ) -> Any:
        """J(worse) - J(beta), summed over outputs, for beta the minimiser of J: by Pythagoras

            sum_i v_i |db + k~_i'dbeta|^2 + alpha dbeta'K dbeta,

        which does not cancel.  Shapes as in `fit`."""
        step, K = worse - beta, np.asarray(self.kernel(basis, basis), self.dtype)
        along = worse_bias - bias + design @ step
        return (v[:, None] * along**2).sum() + self.alpha * (step * (K @ step)).sum()

    def predict(self, X: Array) -> Array:
        """b + k(x)'beta (p, c), solved afresh."""
        X = np.asarray(X, self.dtype)
        if self.n_seen == 0:
            return np.zeros((len(X), self.targets.shape[1]), self.dtype)
        beta, bias, _ = self.fit(self.design, self.basis, self.targets, self.weights)
        return bias + np.asarray(self.kernel(X, self.basis), self.dtype) @ beta

    # -- one row

    def decide(self, x: Array, y: Array, v: Any) -> Decision:
        """What to do with x (d,), y (c,), v > 0; the model stays as it is."""
        x, y, v = np.asarray(x, self.dtype)[None], np.asarray(y, self.dtype)[None], self.dtype.type(v)
        basis = self.basis if self.n_seen else np.zeros((0, x.shape[1]), self.dtype)
        m, row = len(self.indices), self.n_seen
        Y, weights = np.vstack([self.targets, y]), np.append(self.weights, v)
        mean = (weights[:, None] * Y).sum(axis=0) / weights.sum()
        variance = (weights[:, None] * (Y - mean) ** 2).sum() / weights.sum()

        K = np.asarray(self.kernel(basis, basis), self.dtype)
        k = np.asarray(self.kernel(basis, x), self.dtype)  # (m, 1)
        prior = np.asarray(self.kernel(x, x), self.dtype)[0, 0]
        L = cholesky(K)
        a = solve_upper(L.T, solve_lower(L, k))  # a* = K^-1 k  [JP 4]
        delta = prior - (k.T @ a)[0, 0]  # [JP 3]
        nothing = self.dtype.type(np.nan)
        found = Decision(row, REJECTED_NOVELTY, -1, prior, delta, nothing, nothing, None, variance, np.inf)

        def exceeds(value: Any, threshold: Any) -> bool:
            found.margin = min(found.margin, float(abs(value - threshold) / max(abs(threshold), abs(value), 1e-300)))
            return bool(value > threshold)

        if self.fit_intercept and len(Y) == 1:
            # The constant takes the first row whole: there is no cost left for a kernel to lower, and its
            # column would be that of the constant.  Whatever the rule, the row does not join.
            found.outcome, found.use = REJECTED_USEFULNESS, self.dtype.type(0)
            return found
        novel = exceeds(delta, self.novelty_tol * prior)
        squares = (a[:, 0] ** 2 * np.diag(K)).sum()
        unresolved = RESOLUTION * prior * (prior + squares)
        if not novel and delta**2 <= unresolved:
            return found

        # The two designs of this row: after a normal step, and grown by x (column K~ a, own row exact).
        normal = np.vstack([self.design, k.T])
        grown_basis = np.vstack([basis, x])
        grown = np.vstack([np.hstack([self.design, self.design @ a]), np.append(k[:, 0], prior)])
        if delta > 1e-12 * prior:  # nearer, and the usefulness is rounding
            beta_n, bias_n, cost_n = self.fit(normal, basis, Y, weights)
            beta_g, bias_g, cost_g = self.fit(grown, grown_basis, Y, weights)
            padded = np.vstack([beta_n, np.zeros((1, Y.shape[1]), self.dtype)])
            found.use = self.cost_increase(grown, grown_basis, weights, beta_g, bias_g, padded, bias_n)
            found.use_by_costs = cost_n.sum() - cost_g.sum()
            if found.use < 1e-26 * (weights[:, None] * Y**2).sum():
                found.use = self.dtype.type(0)  # the square of a rounding error is not a usefulness
        if not novel:
            return found

        t = len(weights)
        if self.admission == "novelty":
            admitted = True
        elif self.admission == "two-part":
            admitted = exceeds(found.use, self.usefulness_tol * variance)
        elif self.admission == "product":
            admitted = exceeds(delta * found.use, self.usefulness_tol * variance)
        else:
            admitted = exceeds(delta * found.use / t, self.usefulness_tol * variance)
        if not admitted:
            found.outcome = REJECTED_USEFULNESS
            return found
        if not exceeds(delta**2, unresolved):
            found.outcome = REFUSED
            return found
        if self.max_basis == 0 or m < self.max_basis:
            found.outcome = ADMITTED
            return found

        # At the cap: grow, then delete the element whose loss costs least.
        scores = np.zeros(m + 1, self.dtype)
        for i in range(m + 1):
            keep = [j for j in range(m + 1) if j != i]
            beta_i, bias_i, _ = self.fit(grown[:, keep], grown_basis[keep], Y, weights)
            padded = np.zeros((m + 1, Y.shape[1]), self.dtype)
            padded[keep] = beta_i
            scores[i] = self.cost_increase(grown, grown_basis, weights, beta_g, bias_g, padded, bias_i)
        scores[m] *= self.hysteresis
        nothing = NOTHING * (weights[:, None] * Y**2).sum()
        tied = np.flatnonzero(scores <= max(scores.min() * (1 + TIE), nothing))
        others = np.delete(scores, tied)
        if len(others):
            found.margin = min(found.margin, float(1 - scores.min() / others.min()))
        found.scores = scores
        if tied[0] == m:
            found.outcome = BOUNCED
        else:
            found.outcome, found.victim = SWAPPED, self.indices[tied[0]]
        return found

    def learn_one(self, x: Array, y: Array, v: Any = 1.0) -> Decision:
        """Decide, then change the design accordingly."""
        x, y = np.asarray(x, self.dtype), np.asarray(y, self.dtype).reshape(-1)
        if self.n_seen == 0:
            self.basis = np.zeros((0, len(x)), self.dtype)
        if v == 0:
            nothing = self.dtype.type(np.nan)
            found = Decision(self.n_seen, IGNORED, -1, nothing, nothing, nothing, nothing, None, nothing, np.inf)
        else:
            found = self.decide(x, y, v)
            k = np.asarray(self.kernel(x[None], self.basis), self.dtype)  # (1, m)
            if found.outcome in (ADMITTED, SWAPPED):
                L = cholesky(np.asarray(self.kernel(self.basis, self.basis), self.dtype))
                a = solve_upper(L.T, solve_lower(L, k.T))
                earlier = np.hstack([self.design, self.design @ a])
                self.design = np.vstack([earlier, np.append(k[0], found.prior)])
                self.basis = np.vstack([self.basis, x])
                self.indices.append(self.n_seen)
                if found.outcome == SWAPPED:
                    gone = self.indices.index(found.victim)
                    self.design = np.delete(self.design, gone, axis=1)
                    self.basis = np.delete(self.basis, gone, axis=0)
                    del self.indices[gone]
            else:
                self.design = np.vstack([self.design, k])
            self.targets = np.vstack([self.targets, y])
            self.weights = np.append(self.weights, self.dtype.type(v))
        self.n_seen += 1
        self.records.append(found)
        return found

    def learn(self, X: Array, Y: Array, v: Array | None = None) -> tuple[Array, Array, Array]:
        """Rows X (n, d), Y (n, c) or (n,), v (n,): the core's (apriori (n, c), outcome (n,), victim (n,))."""
        Y = np.asarray(Y, self.dtype).reshape(len(X), self.targets.shape[1])
        v = np.ones(len(X)) if v is None else v
        apriori = np.zeros(Y.shape, self.dtype)
        outcome, victim = np.zeros(len(X), np.uint8), np.full(len(X), -1, np.int64)
        for i in range(len(X)):
            apriori[i] = self.predict(np.asarray(X)[i : i + 1])[0]
            found = self.learn_one(X[i], Y[i], v[i])
            outcome[i], victim[i] = found.outcome, found.victim
        return apriori, outcome, victim


# ------------------------------------------------------------------------------------------------------------
# KRLS-ALD
# ------------------------------------------------------------------------------------------------------------


@dataclass
class KRLS:
    """State of Engel's figure 1: indices (m,), K_inverse (m, m), P (m, m) = (A'A)^-1, coef (m,), outcome
    (n,)."""

    indices: Array
    K_inverse: Array
    P: Array
    coef: Array
    outcome: Array

    def predict(self, kernel: KernelFunction, X: Array, stream: Array) -> Array:
        """f(x) = sum_j coef_j k(x~_j, x), (p,)."""
        return kernel(X, np.asarray(stream)[self.indices]) @ self.coef


def engel_krls(kernel: KernelFunction, X: Array, y: Array, nu: float, dtype: Any = np.float64) -> KRLS:
    """Kernel recursive least squares, word for word from [Engel fig. 1]: X (n, d), y (n,), threshold nu."""
    X, y = np.asarray(X, dtype), np.asarray(y, dtype)

    def k(A: Array, B: Array) -> Array:
        return np.asarray(kernel(A, B), dtype)

    # Initialize: K~^-1 = [1/k11], alpha = y1/k11, P = [1], m = 1
    k11 = k(X[:1], X[:1])[0, 0]
    D, K_inverse, coef, P = [0], np.array([[1 / k11]]), np.array([y[0] / k11]), np.ones((1, 1), dtype)
    outcome = np.full(len(X), REJECTED_NOVELTY, np.uint8)
    outcome[0] = ADMITTED
    for t in range(1, len(X)):
        k_t = k(X[D], X[t : t + 1])[:, 0]  # k~_{t-1}(x_t)
        a = K_inverse @ k_t
        delta = k(X[t : t + 1], X[t : t + 1])[0, 0] - k_t @ a  # ALD test
        error = y[t] - k_t @ coef
        m = len(D)
        if delta > nu:
            D.append(t)
            outcome[t] = ADMITTED
            grown = np.empty((m + 1, m + 1), dtype)
            grown[:m, :m] = delta * K_inverse + np.outer(a, a)
            grown[:m, m] = grown[m, :m] = -a
            grown[m, m] = 1
            K_inverse = grown / delta
            P = np.block([[P, np.zeros((m, 1), dtype)], [np.zeros((1, m), dtype), np.ones((1, 1), dtype)]])
            coef = np.append(coef - a / delta * error, error / delta)
        else:
            q = P @ a / (1 + a @ P @ a)
            P = P - np.outer(q, a @ P)
            coef = coef + K_inverse @ q * error
    return KRLS(np.array(D), K_inverse, P, coef, outcome)


# --------------------------------------------------------------------------------------------------------------
# Forward selection (002): by exhaustive search, and the paper's recursion as printed
# --------------------------------------------------------------------------------------------------------------


def orthogonal_columns(K: Array, independent: float = 1e-10) -> tuple[Array, Array]:
    """Q (n, m) orthogonal, not normalised, and U (m, m) unit upper triangular with K = QU.

    By Gram-Schmidt against everything before, three times over, in long double.
    """
    K = np.asarray(K, dtype=np.longdouble)
    Q, U = np.zeros_like(K), np.eye(K.shape[1], dtype=K.dtype)
    for j in range(K.shape[1]):
        q = K[:, j].copy()
        for _ in range(3):
            for i in range(j):
                c = (Q[:, i] @ q) / (Q[:, i] @ Q[:, i])
                U[i, j] += c
                q -= c * Q[:, i]
        assert q @ q > independent * (K[:, j] @ K[:, j]), "dependent columns have no decomposition"
        Q[:, j] = q
    return Q, U


@dataclass
class RidgeFit:
    """Ridge in an orthogonal basis by its definition: the smoother P~ (M, M) is formed."""

    P: Array
    dP: Array  # derivative of P~ with respect to lambda
    rows: float
    trace: float  # of P~, with `rows` for M
    rss: float
    gcv: float
    weights: Array  # alpha~


def ridge_fit(Q: Array, Y: Array, lam: float, free: int, rows: float | None = None) -> RidgeFit:
    """Fit Y (M, c) by Q alpha~ with lam |alpha~|^2 on all but the first `free` columns."""
    M, m = Q.shape
    ridge = np.where(np.arange(m) < free, 0.0, lam)
    inverse = np.linalg.inv(np.asarray(Q.T @ Q + np.diag(ridge), dtype=np.float64))
    P = np.eye(M) - Q @ inverse @ Q.T
    penalised = np.diag((np.arange(m) >= free).astype(float))
    dP = Q @ inverse @ penalised @ inverse @ Q.T
    rows = float(M) if rows is None else rows
    trace = float(np.trace(P)) + rows - M
    rss = float(np.sum((P @ Y) ** 2))
    return RidgeFit(P, dP, rows, trace, rss, rows * rss / trace**2, inverse @ Q.T @ Y)


def reestimated_ridge(
    Q: Array, Y: Array, start: float, free: int, rows: float | None = None, floor: float = 0.0, steps: int = 2000
) -> float:
    """The fixed point of 002 (28)-(30) from `start`, in the matrices of (28)."""
    m = Q.shape[1]
    if m == free:
        return start
    h = np.asarray((Q * Q).sum(axis=0), dtype=np.float64)
    low = floor * h[free:].max()
    lam = max(start, low)
    for _ in range(steps):
        fit = ridge_fit(Q, Y, lam, free, rows)
        # (29) is lam * bend; (30) is lam <- dtrace rss / (trace bend)
        bend = float(np.sum(fit.weights[free:] ** 2 / (lam + h[free:, None])))
        new = max(float(np.trace(fit.dP)) * fit.rss / (fit.trace * bend), low)
        if abs(new - lam) <= 1e-10 * new:
            return new
        lam = new
    return lam


def splitmix64(seed: int) -> Iterator[int]:
    """The generator of Steele, Lea and Flood (2014)."""
    mask = (1 << 64) - 1
    state = seed & mask
    while True:
        state = (state + 0x9E3779B97F4A7C15) & mask
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        yield z ^ (z >> 31)


@dataclass
class SelectionPath:
    """Candidates in the order chosen; ridge and score with 0, 1, 2, ... of them."""

    chosen: list[int]
    alphas: list[float]
    scores: list[float]
    Q: Array
    U: Array


def exhaustive_selection(
    columns: Array,
    Y: Array,
    v: Array,
    steps: int,
    rule: str = "residual",
    lam: float | None = None,
    fit_intercept: bool = True,
    n_candidates: int | None = None,
    seed: int = 0,
    floor: float = 1e-6,
    only: Iterable[int] | None = None,
) -> SelectionPath:
    """Forward selection by definition: everything from scratch at every step, every candidate orthogonalised.

    columns (M, N): the candidates, candidate i being of row i % M; Y (M, c); v (M,) weights. lam None re-estimates.
    Ties within 1e-9: of residuals, the first 59 rows are compared by error reduction; of reductions, the lowest number.
    """
    M, N = columns.shape
    root = np.sqrt(v)[:, None]
    design, targets = root * columns, root * Y
    free = int(fit_intercept)
    rows = max(float(np.sum(v)), float(M))
    pool = sorted(range(N) if only is None else only)
    random = splitmix64(seed)
    chosen: list[int] = []
    current = 0.0 if lam is None else lam
    alphas, scores = [], []
    while True:
        stack = np.hstack([root] * free + [design[:, [i]] for i in chosen]) if free + len(chosen) else design[:, :0]
        Q, U = orthogonal_columns(stack)
        Q, U = Q.astype(np.float64), U.astype(np.float64)
        if lam is None:
            current = reestimated_ridge(Q, targets, current, free, rows, floor)
        fit = ridge_fit(Q, targets, current, free, rows)
        alphas.append(current)
        scores.append(fit.gcv)
        if len(chosen) == steps:
            return SelectionPath(chosen, alphas, scores, Q, U)

        reduction = {}
        for i in pool:
            k = design[:, i]
            q = k - Q @ np.linalg.lstsq(Q, k, rcond=None)[0] if Q.shape[1] else k
            q = q - Q @ np.linalg.lstsq(Q, q, rcond=None)[0] if Q.shape[1] else q
            if q @ q > 1e-10 * (k @ k):
                reduction[i] = float(np.sum((q @ targets) ** 2) / (current + q @ q))
        pool = [i for i in pool if i in reduction or rule == "residual"]
        while True:
            if rule == "residual":
                size = np.linalg.norm(fit.P @ targets, axis=1) / root[:, 0]
                largest = max(size[i % M] for i in pool)
                tied = sorted({i % M for i in pool if size[i % M] >= largest * (1 - 1e-9)})[:59]
                short = [i for i in pool if i % M in tied]
            elif n_candidates is None:
                short = pool
            else:
                short = list(pool)
                for t in range(min(n_candidates, len(short))):
                    j = t + ((next(random) >> 32) * (len(short) - t) >> 32)
                    short[t], short[j] = short[j], short[t]
                short = short[:n_candidates]
            possible = [i for i in short if i in reduction]
            pool = [i for i in pool if i in reduction or i not in short]
            if possible:
                break
        best = max(reduction[i] for i in possible)
        pick = min(i for i in possible if reduction[i] >= best * (1 - 1e-9))
        pool.remove(pick)
        chosen.append(pick)


@dataclass
class PaperRecursion:
    """Algorithm 1 of 002 without its selection: K†, Q and U kept current column by column, as printed."""

    pseudoinverse: Array
    Q: Array
    U: Array


def paper_recursion(columns: Array) -> PaperRecursion:
    """(10), (12), (17), (19), (20) from the column of ones, in double."""
    M = len(columns)
    K = np.ones((M, 1))
    pinv, Q, U = np.ones((1, M)) / M, np.ones((M, 1)), np.ones((1, 1))
    for k in columns.T:
        q = k - K @ (pinv @ k)  # (10)
        q_pinv = q / (q @ q)  # (12)
        pinv = np.vstack([pinv - np.outer(pinv @ k, q_pinv), q_pinv])  # (17)
        Q = np.column_stack([Q, q])  # (19)
        column = (Q.T @ k) / (Q * Q).sum(axis=0)  # (20)
        U = np.column_stack([np.vstack([U, np.zeros(len(U))]), column])
        K = np.column_stack([K, k])
    return PaperRecursion(pinv, Q, U)


# ------------------------------------------------------------------------------------------------------------
# Choosing a basis (EFVS), and least squares on it
# ------------------------------------------------------------------------------------------------------------


def reconstruction(K: Array, S: list[int], v: Array | None = None) -> float:
    """J(S) of [EFVS 1]: the weighted mean of k_Si' K_SS^-1 k_Si / k_ii, over the Gram matrix K."""
    v = np.ones(len(K)) if v is None else np.asarray(v, dtype=float)
    if not S:
        return 0.0
    L = np.linalg.cholesky(K[np.ix_(S, S)])
    W = np.linalg.solve(L, K[S])
    return float((v * (W**2).sum(axis=0) / np.diag(K)).sum() / v.sum())


def brute_force_fvs(K: Array, n: int, v: Array | None = None) -> tuple[list[int], list[float]]:
    """Baudat and Anouar's selection: the pattern of the largest J(S + r), every one tried, one factorisation each."""
    S: list[int] = []
    path = []
    for _ in range(n):
        tried = {r: reconstruction(K, [*S, r], v) for r in range(len(K)) if r not in S}
        S.append(max(tried, key=tried.__getitem__))
        path.append(tried[S[-1]])
    return S, path


@dataclass
class SubsetFit:
    """The direct solution of a subset of regressors: coefficients of the kernels and the bias."""

    beta: Array
    bias: Array
    hat: Array  # leverage of each row: diagonal of the matrix from y to the fit, in units of one row


def subset_fit(K_nm: Array, K_mm: Array, Y: Array, v: Array, alpha: float, intercept: bool) -> SubsetFit:
    """Least squares on explicit features: rows sqrt(v) [1, k_m(x)'L^-T], and sqrt(alpha) [0, I] below them."""
    L = np.linalg.cholesky(K_mm)
    W = np.linalg.solve(L, K_nm.T).T
    m, b = W.shape[1], int(intercept)
    Z = np.hstack([np.ones((len(W), b)), W])
    penalty = np.hstack([np.zeros((m, b)), np.sqrt(alpha) * np.eye(m)])
    A = np.vstack([np.sqrt(v)[:, None] * Z, penalty])
    B = np.vstack([np.sqrt(v)[:, None] * Y, np.zeros((m, Y.shape[1]))])
    theta = np.linalg.lstsq(A, B, rcond=None)[0]
    R = np.linalg.qr(A, mode="r")
    leverage = (np.linalg.solve(R.T, Z.T) ** 2).sum(axis=0)
    bias = theta[0] if intercept else np.zeros(Y.shape[1])
    return SubsetFit(np.linalg.solve(L.T, theta[b:]), bias, leverage)


def subset_loo(K_nm: Array, K_mm: Array, Y: Array, v: Array, alpha: float, intercept: bool) -> Array:
    """Predictions of each row by the model refitted without one unit of its weight (all of it if v < 1)."""
    out = np.empty_like(Y)
    for i in range(len(Y)):
        less = v.copy()
        less[i] = max(v[i] - 1.0, 0.0)
        fit = subset_fit(K_nm, K_mm, Y, less, alpha, intercept)
        out[i] = K_nm[i] @ fit.beta + fit.bias
    return out


def literal_deletion(K_nm: Array, K_mm: Array, Y: Array, alpha: float, fraction: float) -> list[int]:
    """The order in which elements leave, each score the increase of the cost by refitting without the element."""

    def cost(S: list[int]) -> float:
        fit = subset_fit(K_nm[:, S], K_mm[np.ix_(S, S)], Y, np.ones(len(Y)), alpha, True)
        e = Y - K_nm[:, S] @ fit.beta - fit.bias
        return float((e**2).sum() + alpha * np.trace(fit.beta.T @ K_mm[np.ix_(S, S)] @ fit.beta))

    S, order = list(range(len(K_mm))), []
    while len(S) > 1:
        scores = {i: cost([j for j in S if j != i]) - cost(S) for i in S}
        go = min(len(S) - 1, max(1, int(np.ceil(fraction * len(S)))))
        gone = sorted(S, key=scores.__getitem__)[:go]
        order += gone
        S = [j for j in S if j not in gone]
    return order + S


# ------------------------------------------------------------------------------------------------------------
# Kernel LSTD(lambda)
# ------------------------------------------------------------------------------------------------------------


@dataclass
class Transitions:
    """S, S_next (n, d), r, terminal, start (n,)."""

    S: Array
    r: Array
    S_next: Array
    terminal: Array
    start: Array

    def states(self, identifier: int) -> Array:
        """The state with identifier 2t (s of transition t) or 2t + 1 (its s'), (1, d)."""
        t, which = divmod(int(identifier), 2)
        return (self.S_next if which else self.S)[t : t + 1]


class ExplicitLSTD:
    """The recursion word for word, on K^-1, U = P^-1, w and z, with decisions of its own.

    A transition is learned by a normal step; a state that joins borders what comes out of it, with w_b and v_b made
    of the Uz, hU and residual from before that step, which is taken back to find them.
    """

    def __init__(
        self, kernel, alpha, discount, decay, *, novelty_tol, usefulness_tol, admission, max_basis=0, residual=False
    ):
        self.kernel, self.alpha, self.discount, self.decay = kernel, alpha, discount, decay
        self.novelty_tol, self.usefulness_tol, self.admission = novelty_tol, usefulness_tol, admission
        self.max_basis, self.residual = max_basis, residual
        self.identifiers: list[int] = []
        self.K_inverse, self.U = np.zeros((0, 0)), np.zeros((0, 0))
        self.w, self.trace = np.zeros(0), np.zeros(0)
        self.fresh, self.rewards = True, []

    def learn(self, data: Transitions, t: int) -> tuple[list[int], list[int]]:
        self.data, self.t = data, t
        self.s, self.s_next, self.r = data.S[t : t + 1], data.S_next[t : t + 1], data.r[t]
        self.g = 0.0 if data.terminal[t] else self.discount
        D = self.elements()
        k = self.kernel(D, self.s)[:, 0]
        self.h = k - self.g * self.kernel(D, self.s_next)[:, 0]
        if data.start[t] or self.fresh:
            self.trace = np.zeros(len(D))
        self.trace = self.discount * self.decay * self.trace + k
        self.fresh = bool(data.terminal[t])
        self.rewards.append(self.r)
        self.normal()
        outcomes, victims = [IGNORED, IGNORED], [-1, -1]
        for which in (0, 1):
            if which == 0 or not data.terminal[t]:
                outcomes[which], victims[which] = self.consider(which)
        return outcomes, victims

    def elements(self) -> Array:
        if not self.identifiers:
            return self.data.S[:0]
        return np.concatenate([self.data.states(i) for i in self.identifiers])

    @property
    def z(self) -> Array:
        return self.h if self.residual else self.trace

    def normal(self) -> None:
        Uz, hU = self.U @ self.z, self.h @ self.U
        Delta = 1 + self.h @ Uz
        self.w = self.w + (self.r - self.h @ self.w) / Delta * Uz
        self.U = self.U - np.outer(Uz, hU) / Delta

    def take_back(self) -> None:
        Uz, hU = self.U @ self.z, self.h @ self.U
        left = 1 - self.h @ Uz
        self.w = self.w - (self.r - self.h @ self.w) / left * Uz
        self.U = self.U + np.outer(Uz, hU) / left

    def consider(self, which: int) -> tuple[int, int]:
        x = self.s_next if which else self.s
        D = self.elements()
        k_x, k_self = self.kernel(D, x)[:, 0], self.kernel(x, x)[0, 0]
        a = self.K_inverse @ k_x
        delta = k_self - k_x @ a
        if not delta > self.novelty_tol * k_self:
            return REJECTED_NOVELTY, -1
        after = self.U, self.w
        self.take_back()
        Uz, hU = self.U @ self.z, self.h @ self.U
        Delta, rho = 1 + self.h @ Uz, self.r - self.h @ self.w
        self.U, self.w = after
        k_here, k_there = self.kernel(x, self.s)[0, 0], self.kernel(x, self.s_next)[0, 0]
        k = self.kernel(D, self.s)[:, 0]
        delta_p = (k_here - self.g * k_there) - a @ self.h
        delta_q = delta_p if self.residual else k_here - a @ k
        Delta_b = delta_q * delta_p / Delta + self.alpha * delta
        kappa = delta_q * rho / (Delta * Delta_b)
        use = kappa**2 * abs(Delta_b)
        tol2 = self.usefulness_tol * np.mean(np.square(self.rewards))
        rules = {
            "novelty": True,
            "product": delta * use > tol2,
            "two-part": use > tol2,
            "per-sample": delta * use > tol2 * (self.t + 1),
        }
        if not rules[self.admission]:
            return REJECTED_USEFULNESS, -1
        if not delta**2 > RESOLUTION * k_self * (k_self + (a**2 * np.diag(self.kernel(D, D))).sum()):
            return REFUSED, -1
        w_b, v_b = a + delta_p / Delta * Uz, a + delta_q / Delta * hU
        old = self.identifiers, self.K_inverse, self.h, self.trace
        m = len(a)
        self.U = np.pad(self.U, (0, 1)) + np.outer(np.append(-w_b, 1), np.append(-v_b, 1)) / Delta_b
        self.w = np.append(self.w, 0) + kappa * np.append(-w_b, 1)
        self.K_inverse = np.pad(self.K_inverse, (0, 1)) + np.outer(np.append(-a, 1), np.append(-a, 1)) / delta
        self.identifiers = [*self.identifiers, 2 * self.t + which]
        self.h = np.append(self.h, k_here - self.g * k_there)
        self.trace = np.append(self.trace, a @ self.trace + (k_here - a @ k))
        if self.max_basis == 0 or m < self.max_basis:
            return ADMITTED, -1
        scores = self.w**2 / abs(np.diag(self.U))
        scores[m] = use
        victim = int(np.flatnonzero(scores <= scores.min() * (1 + TIE))[0])
        if victim == m:
            self.identifiers, self.K_inverse, self.h, self.trace = old
            self.U, self.w = after
            return BOUNCED, -1
        evicted = self.identifiers[victim]
        self.prune(victim)
        return SWAPPED, evicted

    def prune(self, i: int) -> None:
        kept = [j for j in range(len(self.w)) if j != i]
        self.w = (self.w - self.w[i] / self.U[i, i] * self.U[:, i])[kept]
        self.U = (self.U - np.outer(self.U[:, i], self.U[i]) / self.U[i, i])[np.ix_(kept, kept)]
        V = self.K_inverse
        self.K_inverse = (V - np.outer(V[:, i], V[i]) / V[i, i])[np.ix_(kept, kept)]
        self.h, self.trace = self.h[kept], self.trace[kept]
        self.identifiers = [self.identifiers[j] for j in kept]


class BatchLSTD:
    """The fixed point (Z'H + alpha K) w = Z'r of an explicit Z and H, rebuilt by the log of what joined and left."""

    def __init__(self, kernel, alpha, discount, decay, residual=False):
        self.kernel, self.alpha, self.discount, self.decay, self.residual = kernel, alpha, discount, decay, residual
        self.identifiers: list[int] = []
        self.Z, self.H, self.r = np.zeros((0, 0)), np.zeros((0, 0)), np.zeros(0)
        self.trace, self.fresh = np.zeros(0), True

    def elements(self, data: Transitions) -> Array:
        return np.concatenate([data.S[:0], *[data.states(i) for i in self.identifiers]])

    def step(self, data: Transitions, t: int, outcomes: Iterable[int], victims: Iterable[int], learned: bool = True):
        s, s_next = data.S[t : t + 1], data.S_next[t : t + 1]
        g = 0.0 if data.terminal[t] else self.discount
        D = self.elements(data)
        k, k_next = self.kernel(D, s)[:, 0], self.kernel(D, s_next)[:, 0]
        if data.start[t] or self.fresh:
            self.trace = np.zeros(len(D))
        self.trace = self.discount * self.decay * self.trace + k
        self.fresh = bool(data.terminal[t])
        if not learned:
            return self
        h = k - g * k_next
        self.Z = np.vstack([self.Z, h if self.residual else self.trace])
        self.H = np.vstack([self.H, h])
        self.r = np.append(self.r, data.r[t])
        for which, (outcome, victim) in enumerate(zip(outcomes, victims, strict=True)):
            if outcome not in (ADMITTED, SWAPPED):
                continue
            x, D = data.states(2 * t + which), self.elements(data)
            a = np.linalg.solve(self.kernel(D, D), self.kernel(D, x)[:, 0]) if len(D) else np.zeros(0)
            here, there = self.kernel(x, s)[0, 0], self.kernel(x, s_next)[0, 0]
            h_column, z_column = self.H @ a, self.Z @ a
            h_column[-1] = here - g * there
            own = here - a @ self.kernel(D, s)[:, 0]  # what the projection misses of k(x*, s)
            z_column[-1] = h_column[-1] if self.residual else a @ self.trace + own
            self.trace = np.append(self.trace, a @ self.trace + own)
            self.Z, self.H = np.column_stack([self.Z, z_column]), np.column_stack([self.H, h_column])
            self.identifiers.append(2 * t + which)
            if outcome == SWAPPED:
                i = self.identifiers.index(victim)
                del self.identifiers[i]
                self.Z, self.H = np.delete(self.Z, i, 1), np.delete(self.H, i, 1)
                self.trace = np.delete(self.trace, i)
        return self

    def solve(self, data: Transitions) -> tuple[Array, Array]:
        """w and P."""
        D = self.elements(data)
        P = self.Z.T @ self.H + self.alpha * self.kernel(D, D)
        return np.linalg.solve(P, self.Z.T @ self.r) if len(D) else np.zeros(0), P
