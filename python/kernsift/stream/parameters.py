"""Parameters of the online estimators, and the core they describe."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from .. import _core
from ..base.kernel import SCALES, TABLE, LearningParameters, kernel_name, parameter, parameters, wants_learning
from ..base.memory import check_memory
from ..base.noise import NoiseParameter
from ..base.targets import Rows
from ..base.types import GammaSetting, RandomState
from ..base.validation import COUNT, NOT_NEGATIVE, POSITIVE, Interval
from ..base.warp import Warp
from ..widths.learn_gamma import check_kernel
from .core_model import ADMISSIONS, CoreModel
from .course import BEGINNINGS
from .ridge import FIRST_RIDGE

# forgetting="auto": what the past keeps of its weight with each row, in the memories that compete.
MEMORIES = (1.0, 0.9995, 0.998, 0.99)
LEAST_MEMORY, MOST_MEMORIES = 1e-6, 16
# linear="auto": features at most, relative to the kernels, for a row costs (kernels + features)² instead of kernels².
MOST_LINEAR = 0.5

ENGINES = {"orthonormal": _core.OnlineLSSVM, "inverse": _core.OnlineInverse}


@parameters
class StreamParameters(LearningParameters):
    """Parameters of the online estimators."""

    gamma: GammaSetting | float | ArrayLike | Warp = parameter(
        {"auto", "learn", "warp", *SCALES}, POSITIVE, "array-like", Warp, default="auto"
    )
    alpha: float | Literal["auto", "gcv"] = parameter(NOT_NEGATIVE, {"auto", "gcv"}, default="auto")
    max_basis: int | None = parameter(COUNT, None, default=500)
    novelty_tol: float = parameter(NOT_NEGATIVE, default=0.01)
    usefulness_tol: float = parameter(NOT_NEGATIVE, default=0.0001)
    admission: Literal["product", "two-part", "per-sample", "novelty"] = parameter(set(ADMISSIONS), default="product")
    fit_intercept: bool = parameter("boolean", default=True)
    engine: Literal["orthonormal", "inverse"] = parameter(set(ENGINES), default="orthonormal")
    swap_until: int | Literal["auto"] | None = parameter(COUNT, {"auto"}, None, default="auto")
    exact_rows: int | Literal["auto"] = parameter(Interval(Integral, 0, None, closed="left"), {"auto"}, default="auto")
    oversample: int = parameter(COUNT, default=1)
    hysteresis: float = parameter(Interval(Real, 0, 1, closed="right"), default=1.0)
    forgetting: float | Literal["auto"] | ArrayLike = parameter(
        Interval(Real, LEAST_MEMORY, 1, closed="both"), {"auto"}, "array-like", default="auto"
    )
    linear: bool | Literal["auto"] = parameter("boolean", {"auto"}, default="auto")
    error_forecast: bool | Literal["auto"] = parameter("boolean", {"auto"}, default="auto")
    learn_rows: int = parameter(COUNT, default=1000)
    window: int | None = parameter(Interval(Integral, 2, None, closed="left"), None, default=None)
    n_jobs: int | None = parameter(Integral, None, default=None)
    random_state: RandomState = parameter("random_state", np.random.Generator, default=None)
    verbose: int | bool = parameter("verbose", default=0)


@parameters
class RegressorParameters(NoiseParameter, StreamParameters):
    """Those of the regressor."""


class OnlineParameters(StreamParameters, CoreModel):
    """Parameters, and the core made from them."""

    on_full = "prune"  # what an admission means at the cap; a parameter of KRLS only
    noise: Any = "constant"  # a parameter of the regressor only
    _level = True  # whether the constant of several memories is measured from the first target

    def _settings(self, kernel: Any, rows: Rows, whole: bool) -> dict[str, Any]:
        """Settings of the core, for a stream that begins with these rows, the `whole` of it or not."""
        self._check_beyond_the_papers()
        n, n_outputs = len(rows.X), rows.targets.shape[1]
        ring = self._ring(whole)
        what = "window" if self.window is not None else "exact_rows"
        needed = _core.recent_rows_memory(rows=ring, outputs=n_outputs)
        check_memory(needed, f"{what}={ring}", f"keep fewer recent rows ({what})")
        linear = self._linear_scale(kernel, rows, whole)
        return {
            "alpha": self._ridge(),
            "novelty_tol": float(self.novelty_tol),
            "usefulness_tol": float(self.usefulness_tol),
            "admission": self.admission,
            "max_basis": self._cap(),
            "fit_intercept": bool(self.fit_intercept),
            "swap_until": self._swaps(n if whole else None),
            "exact_rows": ring,
            "forgetting": self._memories(whole),
            "linear": linear,
            "bounded": self._level and self.linear == "auto" and bool(linear),
            "error_forecast": self._forecasts_errors(whole),
            "level": self._level,
            "on_full": self.on_full,
            "noise": self._noise(),
            "window": self.window is not None,
            "hysteresis": float(self.hysteresis),
            "kept_rows": 0 if whole else self._kept_for_widths(),
        }

    # --- widths: given, taken from the rows, or learned ---

    def _learns_widths(self) -> bool:
        """Whether a stream goes on learning its widths."""
        if isinstance(self.gamma, str) and self.gamma == "learn":
            return True
        learnable = not callable(self.kernel) and TABLE[str(self.kernel)]["slope"] and self._beyond_the_papers()
        return learnable and isinstance(self.gamma, str) and self.gamma == "auto"

    def _kept_for_widths(self) -> int:
        """Last rows kept, from which a stream begins again with other widths."""
        if not isinstance(self.gamma, str):
            return 0
        return 2 * int(self.learn_rows) if self._learns_widths() else BEGINNINGS[-1]

    def _ridge(self) -> float:
        """Ridge a stream begins with."""
        return FIRST_RIDGE if isinstance(self.alpha, str) else float(self.alpha)

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
        steady = isinstance(self.forgetting, str) or self._given_memories() == [1.0]
        return 500 if whole and steady and self._beyond_the_papers() else 0

    # --- memories and a linear part: what no setting has to tell beforehand ---

    def _memories(self, whole: bool) -> list[float]:
        """How much the past keeps of its weight with each row, in each of the memories that compete."""
        if not isinstance(self.forgetting, str):
            return self._given_memories()
        # a table does not drift, and a single memory that does not fade is what recent rows and windows are exact for
        steady = whole or not self._beyond_the_papers() or self._ring(whole) > 0 or not self._ridge() > 0
        return [1.0] if steady else list(MEMORIES)

    def _given_memories(self) -> list[float]:
        try:
            memories = np.atleast_1d(np.asarray(self.forgetting, dtype=np.float64))
        except (TypeError, ValueError):  # no numbers
            memories = np.empty(0)
        several = memories.ndim == 1 and 1 <= len(memories) <= MOST_MEMORIES
        if not several or not ((memories >= LEAST_MEMORY) & (memories <= 1)).all():
            raise ValueError(
                f"forgetting={self.forgetting!r} must be 'auto', a number from {LEAST_MEMORY} to 1, or up to "
                f"{MOST_MEMORIES} of them, one a memory"
            )
        return list(memories.tolist())

    def _linear_scale(self, kernel: Any, rows: Rows, whole: bool) -> list[float]:
        """Scale of each feature in a linear part beside the kernels; none for a model without.

        Nothing decides on it from the data: in no stream measured did it cost more than a per mille of the error, for a
        slope that is of no use stays at its prior.
        """
        d = rows.X.shape[1]
        if self.linear is False or (self.linear == "auto" and not self._may_be_linear(kernel, d, whole)):
            return []
        scale = np.ones(d)  # widths in units of their own say that the features are in those units too
        if isinstance(self.gamma, str):
            # about a row: what never changes has a deviation of exactly 0
            deviation = (rows.X[rows.weight > 0] - rows.X[0]).std(axis=0)
            scale = np.divide(1.0, deviation, out=np.zeros(d), where=deviation > 0)
        return list((scale / np.sqrt(d + 1.0)).tolist())

    def _may_be_linear(self, kernel: Any, d: int, whole: bool) -> bool:
        room = self._cap() == 0 or d <= MOST_LINEAR * self._cap()
        return not whole and room and self._beyond_the_papers() and kernel.stationary and self._ridge() > 0

    def _forecasts_errors(self, whole: bool) -> bool:
        """Whether the errors of the last rows correct the prediction of the next: the rows of a table have no order."""
        if self.error_forecast != "auto":
            return bool(self.error_forecast)
        return isinstance(self.forgetting, str) and len(self._memories(whole)) > 1

    def _noise(self) -> str:
        """Whether standard deviations follow noise that depends on x; without a ridge there are none."""
        there = self.noise != "auto" or (self._beyond_the_papers() and self._ridge() > 0)
        return str(self.noise) if there else "constant"

    def _beyond_the_papers(self) -> bool:
        return self.engine == "orthonormal"

    def _check_beyond_the_papers(self) -> None:
        beyond: dict[str, tuple[Any, ...]] = {
            "swap_until": (None, "auto"),
            "exact_rows": (0, "auto"),
            "forgetting": (1.0, "auto"),
            "linear": (False, "auto"),
            "error_forecast": (False, "auto"),
            "noise": ("constant", "auto"),
            "window": (None,),
        }
        for name, plain in beyond.items():
            value = getattr(self, name)
            given = value if np.ndim(value) == 0 else tuple(np.ravel(value))
            if given not in plain and not self._beyond_the_papers():
                raise ValueError(
                    f"{name}={value!r} goes beyond the papers and engine='inverse' is their literal form: use "
                    "engine='orthonormal'"
                )
        if self.alpha == "gcv" and not self._beyond_the_papers():
            raise ValueError(
                "alpha='gcv' goes beyond the papers and engine='inverse' is their literal form: use "
                "engine='orthonormal', or give alpha as a number"
            )
        if wants_learning(self.gamma):
            check_kernel(kernel_name(self))
            if not self._beyond_the_papers():
                raise ValueError(
                    f"gamma={self.gamma!r} goes beyond the papers and engine='inverse' is their literal form: use "
                    "engine='orthonormal', or gamma='scale'"
                )
        if self.swap_until not in (None, "auto") and self.max_basis is None:
            raise ValueError(f"swap_until={self.swap_until!r} freezes a full dictionary: it needs max_basis")
        if self.oversample > 1 and self.max_basis is None:
            raise ValueError(f"oversample={self.oversample!r} is a multiple of max_basis: set max_basis")
        if self.window is not None:
            self._check_window()
        forgets = not isinstance(self.forgetting, str) and self._given_memories() != [1.0]
        if forgets and not self._ridge() > 0:
            raise ValueError(
                "forgetting < 1 needs alpha > 0: what is forgotten returns to the prior, and there is none"
            )
        if self.noise == "input" and not self._ridge() > 0:
            raise ValueError("noise='input' needs alpha > 0: without a ridge there are no standard deviations")
        if self.linear is True and not self._ridge() > 0:
            raise ValueError("linear=True needs alpha > 0: it is a part of the prior, and there is none")
        if forgets and self.window is not None:
            raise ValueError("window and forgetting are two ways to forget: use one of them")
        if forgets and self.exact_rows not in (0, "auto"):
            raise ValueError(
                f"exact_rows={self.exact_rows!r} makes kernels exact on rows that have not faded: use it without "
                "forgetting, or leave it out"
            )

    def _check_window(self) -> None:
        if self.exact_rows not in (0, "auto"):
            raise ValueError(
                f"window={self.window!r} is exact on all its rows: leave exact_rows={self.exact_rows!r} out"
            )
        if self.swap_until not in (None, "auto"):
            raise ValueError("swap_until freezes the dictionary and window is for streams that drift: use one of them")
        if not self._ridge() > 0:
            raise ValueError("window needs alpha > 0: what is forgotten returns to the prior, and there is none")
