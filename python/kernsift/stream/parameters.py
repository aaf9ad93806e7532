"""Parameters of the online estimators, and the core they describe."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

from .. import _core
from ..base.kernel import LEARNING_CONSTRAINTS, KernelParameters, parameters
from ..base.memory import check_memory
from ..base.validation import Interval, StrOptions
from .core_model import ADMISSIONS, CoreModel
from .ridge import FIRST_RIDGE

ENGINES = {"orthonormal": _core.OnlineLSSVM, "inverse": _core.OnlineInverse}


@parameters
class StreamParameters(KernelParameters):
    """Parameters of the online estimators."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LEARNING_CONSTRAINTS,
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"gcv"})],
        "max_basis": [Interval(Integral, 1, None, closed="left"), None],
        "novelty_tol": [Interval(Real, 0, None, closed="left")],
        "usefulness_tol": [Interval(Real, 0, None, closed="left")],
        "admission": [StrOptions(set(ADMISSIONS))],
        "fit_intercept": ["boolean"],
        "engine": [StrOptions(set(ENGINES))],
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

    alpha: float | str = 0.1
    max_basis: int | None = 500
    novelty_tol: float = 0.01
    usefulness_tol: float = 0.0001
    admission: str = "product"
    fit_intercept: bool = True
    engine: str = "orthonormal"
    swap_until: int | str | None = "auto"
    exact_rows: int | str = "auto"
    oversample: int = 1
    hysteresis: float = 1.0
    forgetting: float = 1.0
    learn_rows: int = 2000
    window: int | None = None
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int | bool = 0


class OnlineParameters(StreamParameters, CoreModel):
    """Parameters, and the core made from them."""

    on_full = "prune"  # what an admission means at the cap; a parameter of KRLS only

    def _settings(self, n: int, n_outputs: int, whole: bool) -> dict[str, Any]:
        """Settings of the core, for a stream that begins with n rows, the `whole` of it or not."""
        self._check_beyond_the_papers()
        ring = self._ring(whole)
        what = "window" if self.window is not None else "exact_rows"
        needed = _core.recent_rows_memory(rows=ring, outputs=n_outputs)
        check_memory(needed, f"{what}={ring}", f"keep fewer recent rows ({what})")
        return {
            "alpha": self._ridge(),
            "novelty_tol": float(self.novelty_tol),
            "usefulness_tol": float(self.usefulness_tol),
            "admission": self.admission,
            "max_basis": self._cap(),
            "fit_intercept": bool(self.fit_intercept),
            "swap_until": self._swaps(n if whole else None),
            "exact_rows": ring,
            "forgetting": float(self.forgetting),
            "on_full": self.on_full,
            "window": self.window is not None,
            "hysteresis": float(self.hysteresis),
        }

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
