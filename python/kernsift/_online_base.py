"""What the online estimators share: parameters, state and fitted attributes over the C++ core."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._kernel import LEARNING_CONSTRAINTS, make_kernel
from ._learn_gamma import wants_learning
from ._memory import check_memory
from ._online_learning import OnlineLearning
from ._online_ridge import FIRST_RIDGE, choose_ridge
from ._threads import n_threads
from ._validation import Interval, StrOptions, check_is_fitted, check_rows, unchanged_on_error, validate_data

ADMISSIONS = ("product", "two-part", "per-sample", "novelty")
OUTCOMES = (
    "rejected_novelty",
    "rejected_usefulness",
    "admitted",
    "swapped",
    "bounced",
    "refused",
    "ignored",
    "frozen",
)
_ENGINES = {"orthonormal": _core.OnlineLSSVM, "inverse": _core.OnlineInverse}


class OnlineBase(OnlineLearning):
    """Parameters, state and fitted attributes; the subclasses say what a target is."""

    _parameter_constraints: dict[str, list[Any]] = {
        **LEARNING_CONSTRAINTS,
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"gcv"})],
        "max_basis": [Interval(Integral, 1, None, closed="left"), None],
        "novelty_tol": [Interval(Real, 0, None, closed="left")],
        "usefulness_tol": [Interval(Real, 0, None, closed="left")],
        "admission": [StrOptions(set(ADMISSIONS))],
        "fit_intercept": ["boolean"],
        "engine": [StrOptions(set(_ENGINES))],
        "swap_until": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"}), None],
        "exact_rows": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "oversample": [Interval(Integral, 1, None, closed="left")],
        "hysteresis": [Interval(Real, 0, 1, closed="right")],
        "forgetting": [Interval(Real, 1e-6, 1, closed="both")],
        "learn_rows": [Interval(Integral, 1, None, closed="left")],
        "window": [Interval(Integral, 2, None, closed="left"), None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        kernel: str = "rbf",
        gamma: str | float | ArrayLike = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        alpha: float | str = 0.1,
        max_basis: int | None = 500,
        novelty_tol: float = 1e-2,
        usefulness_tol: float = 1e-4,
        admission: str = "product",
        fit_intercept: bool = True,
        engine: str = "orthonormal",
        swap_until: int | str | None = "auto",
        exact_rows: int | str = "auto",
        oversample: int = 1,
        hysteresis: float = 1.0,
        forgetting: float = 1.0,
        learn_rows: int = 2000,
        window: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int | bool = 0,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.alpha = alpha
        self.max_basis = max_basis
        self.novelty_tol = novelty_tol
        self.usefulness_tol = usefulness_tol
        self.admission = admission
        self.fit_intercept = fit_intercept
        self.engine = engine
        self.swap_until = swap_until
        self.exact_rows = exact_rows
        self.oversample = oversample
        self.hysteresis = hysteresis
        self.forgetting = forgetting
        self.learn_rows = learn_rows
        self.window = window
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # --- learning ---

    on_full: str = "prune"  # what an admission means at the cap; a parameter of KRLS only

    def _start(
        self,
        X: NDArray[np.float64],
        weight: NDArray[np.float64],
        n_outputs: int,
        whole: bool = False,
        gamma: Any = None,
    ) -> Any:
        """Make the core for a stream that begins with X, and ends with it where X is the `whole`."""
        self._check_beyond_the_papers()
        gamma = self.gamma if gamma is None else gamma
        kernel = make_kernel(self.kernel, gamma, self.degree, self.coef0, X, weight, self.random_state)
        # Everything else grows with the kernels, from eight on. Coordinates, targets and weights of the recent rows are
        # there for all of them from the first.
        ring = self._ring(whole)
        what = "window" if self.window is not None else "exact_rows"
        check_memory(ring * (8 + n_outputs + 1), f"{what}={ring}", f"keep fewer recent rows ({what})")
        return _ENGINES[self.engine](
            kernel,
            n_outputs,
            alpha=self._ridge(),
            novelty_tol=float(self.novelty_tol),
            usefulness_tol=float(self.usefulness_tol),
            admission=self.admission,
            max_basis=self._cap(),
            fit_intercept=bool(self.fit_intercept),
            swap_until=self._swaps(len(X) if whole else None),
            exact_rows=ring,
            forgetting=float(self.forgetting),
            on_full=self.on_full,
            window=self.window is not None,
            hysteresis=float(self.hysteresis),
        )

    def _ridge(self) -> float:
        """Ridge a stream begins with."""
        return FIRST_RIDGE if self.alpha == "gcv" else float(self.alpha)

    @property
    def alpha_(self) -> float:
        """The ridge in use."""
        return float(self._fitted().alpha)

    def _cap(self) -> int:
        """Kernels at most while rows are learned; 0 for no limit."""
        return 0 if self.max_basis is None else int(self.oversample) * int(self.max_basis)

    # What goes beyond the papers pays where the number of rows is known. Of a stream neither that nor whether its
    # inputs will drift is: there the papers' recursion is the default, and the fastest.

    def _swaps(self, n: int | None) -> int:
        """Rows until a full dictionary is frozen, where the stream is known to end after n; 0 for never."""
        if self.swap_until != "auto":
            return 0 if self.swap_until is None else int(self.swap_until)
        if n is None or self._cap() == 0 or self.window is not None or not self._beyond_the_papers():
            return 0
        return max(1, min(20 * self._cap(), n // 2))

    def _ring(self, whole: bool) -> int:
        """Recent rows on which a new kernel is exact."""
        if self.window is not None:
            return int(self.window)
        if self.exact_rows != "auto":
            return int(self.exact_rows)
        return 500 if whole and self._beyond_the_papers() else 0

    def _beyond_the_papers(self) -> bool:
        return self.engine == "orthonormal"

    def _begin(
        self,
        X: NDArray[np.float64],
        weight: NDArray[np.float64],
        n_outputs: int,
        whole: bool = False,
        gamma: Any = None,
    ) -> Any:
        core = self._start(X, weight, n_outputs, whole, gamma)
        # n_jobs and verbose change how, not what
        how = ("n_jobs", "verbose")
        self._begun_with = {name: value for name, value in self.get_params(deep=False).items() if name not in how}
        return core

    def _check_warm(self, what: str) -> None:
        if "_warm_up" in self.__dict__:
            raise ValueError(
                f"{what} needs the widths, and with gamma='learn' they come with row {self.learn_rows} (learn_rows): "
                "use partial_fit until then, or fit"
            )

    def _refit(
        self, X: NDArray[np.float64], targets: NDArray[np.float64], weight: NDArray[np.float64], new_widths: bool
    ) -> None:
        if self.engine == "inverse":
            raise ValueError("refit goes beyond the papers and engine='inverse' is their literal form")
        self._needs_ridge("refit")
        self._check_warm("refit")
        if self.window is not None:
            raise ValueError("refit learns all its rows and window keeps the last: fit again instead")
        if not (weight > 0).any():
            raise ValueError("sample_weight is zero for every row: give at least one row a positive weight")
        if new_widths:
            if not wants_learning(self.gamma):
                raise ValueError(f"new_widths=True learns the widths again, and gamma={self.gamma!r} gives them")
            with unchanged_on_error(self):
                self._learn(X, targets, weight, restart=True, whole=True)
        check_rows(self._fitted().kernel, X)
        self._fitted().refit(X, targets, weight, n_threads(self.n_jobs))
        if self.alpha == "gcv":
            choose_ridge(self._fitted())

    def prune(self, n_basis: int | None = None) -> Self:
        """Delete the kernels that lower the cost least, one by one, and stay exact for those that are left.

        Parameters
        ----------
        n_basis : int, optional
            Kernels to keep; ``max_basis`` by default, which with ``oversample`` is fewer than there are.

        Examples
        --------
        >>> import numpy as np
        >>> from kernsift import OnlineLSSVMRegressor
        >>> rng = np.random.default_rng(7)
        >>> X = rng.uniform(-3, 3, (400, 1))
        >>> y = np.sinc(X[:, 0]) + 0.05 * rng.standard_normal(400)
        >>> model = OnlineLSSVMRegressor(gamma=1.0).fit(X, y)
        >>> model.prune(8).n_basis_
        8
        >>> bool(model.score(X, y) > 0.95)
        True
        """
        core = self._fitted()
        self._needs_ridge("prune")
        keep = self.max_basis if n_basis is None else n_basis
        if not isinstance(keep, Integral) or keep < 1:
            raise ValueError(f"n_basis must be a number of kernels, 1 or more (or set max_basis); got {keep!r}")
        core.prune(int(keep))
        if self.alpha == "gcv":
            choose_ridge(core)
        return self

    def _check_beyond_the_papers(self) -> None:
        beyond: dict[str, tuple[Any, ...]] = {
            "swap_until": (None, "auto"),
            "exact_rows": (0, "auto"),
            "forgetting": (1.0,),
            "window": (None,),
        }
        for name, plain in beyond.items():
            value = getattr(self, name)
            if value not in plain and not self._beyond_the_papers():
                raise ValueError(
                    f"{name}={value!r} goes beyond the papers and engine='inverse' is their literal form: use "
                    "engine='orthonormal'"
                )
        if self.alpha == "gcv" and not self._beyond_the_papers():
            raise ValueError(
                "alpha='gcv' goes beyond the papers and engine='inverse' is their literal form: use "
                "engine='orthonormal', or give alpha as a number"
            )
        if self.alpha == "gcv" and self.forgetting < 1:
            raise ValueError("alpha='gcv' counts rows and forgetting < 1 discounts them: give alpha as a number")
        if self.swap_until not in (None, "auto") and self.max_basis is None:
            raise ValueError(f"swap_until={self.swap_until!r} freezes a full dictionary: it needs max_basis")
        if self.oversample > 1 and self.max_basis is None:
            raise ValueError(f"oversample={self.oversample!r} is a multiple of max_basis: set max_basis")
        if self.window is not None:
            self._check_window()
        if self.forgetting < 1 and not self._ridge() > 0:
            raise ValueError(
                "forgetting < 1 needs alpha > 0: what is forgotten returns to the prior, and there is none"
            )

    def _check_window(self) -> None:
        if self.forgetting < 1:
            raise ValueError("window and forgetting are two ways to forget: use one of them")
        if self.exact_rows not in (0, "auto"):
            raise ValueError(
                f"window={self.window!r} is exact on all its rows: leave exact_rows={self.exact_rows!r} out"
            )
        if self.swap_until not in (None, "auto"):
            raise ValueError("swap_until freezes the dictionary and window is for streams that drift: use one of them")
        if not self._ridge() > 0:
            raise ValueError("window needs alpha > 0: what is forgotten returns to the prior, and there is none")

    _flat: bool  # one output given as a vector: answers are vectors too

    def _per_output(self, values: NDArray[np.float64]) -> Any:
        return float(values[0]) if self._flat else values

    @property
    def dual_coef_(self) -> NDArray[np.float64]:
        """Coefficients of the kernels, (n_basis_,) or (n_basis_, outputs)."""
        coef = self._fitted().coef
        return coef[:, 0] if self._flat else coef

    @property
    def intercept_(self) -> Any:
        """The constant, one per output."""
        return self._per_output(self._fitted().intercept)

    @property
    def cost_(self) -> Any:
        """Regularised cost ξ, per output."""
        return self._per_output(self._fitted().cost)

    @property
    def gcv_(self) -> Any:
        """Generalised cross-validation score, per output."""
        return self._per_output(self._fitted().gcv)

    @property
    def log_evidence_(self) -> Any:
        """Log marginal likelihood of the Gaussian process with this basis, at its best signal scale."""
        if self.alpha_ == 0:  # no such attribute, rather than an error where a page lists all there are
            raise AttributeError("log_evidence_ needs alpha > 0: without a ridge there is no prior; fit again with one")
        if self.forgetting < 1:
            raise AttributeError("log_evidence_ has no meaning for a stream that forgets (forgetting < 1)")
        return self._per_output(self._fitted().log_evidence)

    @property
    def noise_variance_(self) -> Any:
        """Estimate of the noise variance from the cost, per output."""
        return self._per_output(self._fitted().noise_variance)

    @property
    def n_refused_(self) -> int:
        """Rows refused as kernels, because double precision does not resolve their distance to the basis."""
        return self.audit_["refused"]

    @property
    def audit_(self) -> dict[str, int]:
        """What became of the rows.

        ``admitted`` (became a kernel; swaps included), ``evicted``, ``rejected_novelty`` and ``rejected_usefulness``
        (by which rule a row did not become a kernel), ``bounced`` (admitted at the cap but itself the least useful),
        ``refused`` (double precision does not resolve the distance to the basis), ``ignored`` (weight zero),
        ``frozen`` (learned after ``swap_until``).
        """
        counts = dict(zip(OUTCOMES, self._fitted().counters.tolist(), strict=True))
        evicted = counts.pop("swapped")
        counts["admitted"] += evicted
        return {**counts, "evicted": evicted}

    def health(self) -> dict[str, Any]:
        """Whether the state is still what the mathematics says it must be, in O(m³).

        Returns
        -------
        dict
            ``sound``; ``problems``, a list of what is not; ``limits``, a list of what the arithmetic kept from being
            learned as configured; ``kernel_condition`` and ``inverse_condition``, of the kernel matrix and of the kept
            inverse; ``kernel_error``, how far the kept factor (or inverse) is from that matrix; and the counts of
            ``audit_``.  A model that is not sound should be fitted again.

        Examples
        --------
        >>> import numpy as np
        >>> from kernsift import OnlineLSSVMRegressor
        >>> rng = np.random.default_rng(7)
        >>> X = rng.uniform(-3, 3, (400, 1))
        >>> y = np.sinc(X[:, 0]) + 0.05 * rng.standard_normal(400)
        >>> found = OnlineLSSVMRegressor(gamma=1.0).fit(X, y).health()
        >>> found["sound"], found["problems"]
        (True, [])
        """
        from ._health import health

        limits = []
        if self.n_refused_ > 0:
            limits.append(
                f"{self.n_refused_} of {self.n_samples_seen_} rows were refused as kernels, because double precision "
                f"does not resolve their distance to the basis; novelty_tol={self.novelty_tol!r} is too small for "
                "these rows and this kernel: raise it, or make the kernel narrower (larger gamma)"
            )
        return {**health(self._fitted(), self.alpha_, self.max_basis), "limits": limits, **self.audit_}

    def _needs_ridge(self, what: str) -> None:
        if self.alpha_ == 0:
            raise ValueError(f"{what} needs alpha > 0: without a ridge there is no prior; set alpha and fit again")

    def _scores(self, X: ArrayLike) -> NDArray[Any]:
        """f(x), in single precision for rows that come in it."""
        check_is_fitted(self)
        core = self._fitted()
        rows = validate_data(self, X, reset=False, dtype=[np.float64, np.float32], order="C")
        if rows.dtype == np.float32:
            return core.kernel.expand_single(*core.expansion, rows, n_threads(self.n_jobs))
        return core.predict(rows, n_threads(self.n_jobs))
