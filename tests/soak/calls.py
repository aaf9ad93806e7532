"""Mutated inputs for every public method of every estimator, and what may come of a call.

`Fuzzer(seed).step()` makes one call.  Allowed: a result, or a ValueError, TypeError or MemoryError with a text of
some length, which leaves the model as it was to the byte.  Never: another exception, a hang, NaN or infinity in a
state.  A crash ends the process: whoever runs many steps does so in a process of its own, and a seed names the step.
"""

from __future__ import annotations

import array
import contextlib
import pickle
import signal
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kernsift
import numpy as np
from kernsift.stream.course import BEGINNINGS
from sklearn.base import is_classifier

#: Seconds after which a call on a hundred rows hangs.
PATIENCE = 60
SPECIAL = [np.nan, np.inf, -np.inf, 5e-324, -5e-324, 2.2e-308, 1e300, -1e300, 1e-300, 1.7e308, 1e155, -1e155, -0.0, 0.0,
           1e25, -1e-25, 1e50, 1e-50, -1e75, 1e-75, 1e100, -1e-100, 1e145, 1e-145]  # fmt: skip
DTYPES = ["f2", "f4", ">f4", ">f8", "g", "i1", "i8", ">i4", "u1", "u8", "?", "c8", "O", "U5", "S5", "M8[s]", "m8[s]"]
N_FEATURES = 3
#: Where files cost no disk, if there is such a place.
MEMORY = Path("/dev/shm")


class WrongError(AssertionError):
    """What must not happen, happened."""


class Hang(BaseException):
    """A call took longer than PATIENCE."""


def table(n: int = 24) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, N_FEATURES))
    return X, np.sin(X[:, 0]) + X[:, 1], (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)


def length(X: Any) -> int:
    try:
        return len(X)
    except TypeError:
        return 3


# --- inputs


class Mutator:
    """Arrays and things that are none, by a generator of random numbers."""

    def __init__(self, rng: np.random.Generator, folder: Path) -> None:
        self.rng, self.folder = rng, folder

    def one_of(self, things: Any) -> Any:
        return things[int(self.rng.integers(len(things)))]

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def rows(self) -> Any:
        """Something that should be a table of N_FEATURES columns, and mostly is nearly one."""
        n = self.one_of([0, 1, 1, 2, 3, 7, 24, 70])
        d = N_FEATURES if self.chance(0.85) else self.one_of([0, 1, 2, 4, 50])
        return self.spoil(self.rng.normal(size=(n, d)) * self.one_of([1.0, 1.0, 1e-8, 1e8, 1e30, 1e-40, 1e150, 1e-160]))

    def targets(self, X: Any, labels: bool) -> Any:
        n = length(X) if self.chance(0.9) else self.one_of([0, 1, 24])
        if labels:
            y: Any = self.rng.integers(0, 3, n)
            if self.chance(0.2):
                y = self.one_of(
                    [y.astype(float), y.astype(str), y.astype(object), y > 0, y + 0.5, y - 2**62, [None] * n]
                )
            return self.spoil(y) if self.chance(0.15) and isinstance(y, np.ndarray) else y
        y = self.rng.normal(size=n if self.chance(0.8) else (n, self.one_of([0, 1, 2])))
        return self.spoil(y * self.one_of([1.0, 1.0, 1e-300, 1e60, 1e140, 1e200])) if self.chance(0.3) else y

    def weights(self, X: Any) -> Any:
        if self.chance(0.6):
            return None
        n = length(X)
        scale = self.one_of([1.0, 1.0, 0.0, 1e-300, 1e300, -1.0, 1e-95, 1e95, 1e-60, 1e60])
        w = np.abs(self.rng.normal(size=n)) * scale
        return self.spoil(w) if self.chance(0.3) else w

    def spoil(self, A: np.ndarray) -> Any:
        """Zero to three mutations: values, type, memory, shape, container."""
        for _ in range(self.one_of([0, 1, 1, 2, 3])):
            A = self.one_of([self.values, self.values, self.dtype, self.memory, self.shape, self.container])(A)
            if not isinstance(A, np.ndarray):
                return A
        return A

    def values(self, A: np.ndarray) -> np.ndarray:
        if A.size == 0 or A.dtype.kind != "f":
            return A
        A = A.copy()
        with np.errstate(all="ignore"), contextlib.suppress(ValueError):
            A.flat[self.rng.integers(0, A.size, self.one_of([1, 1, A.size]))] = self.one_of(SPECIAL)
        return A

    def dtype(self, A: np.ndarray) -> np.ndarray:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                A = A.astype(self.one_of(DTYPES))
            except (TypeError, ValueError, OverflowError, RuntimeError):
                return A
        if A.dtype.kind == "O" and A.size:
            odd = self.one_of([None, "a", 10**400, 1j, [], 2.0, object(), np.nan])
            with contextlib.suppress(ValueError):  # numpy may take [] for no values at all
                A.flat[int(self.rng.integers(A.size))] = odd
        return A

    def memory(self, A: np.ndarray) -> np.ndarray:
        way = self.one_of(["fortran", "strided", "backwards", "readonly", "map", "broadcast", "unaligned"])
        if way == "fortran":
            return np.asfortranarray(A)
        if way == "strided" and A.ndim:
            return np.repeat(A, 2, axis=0)[::2]
        if way == "backwards":
            return A[::-1] if A.ndim else A
        if way == "map" and A.size and A.dtype.kind in "fiub":
            path = self.folder / "rows.npy"
            path.unlink(missing_ok=True)  # A may be mapped from it
            np.save(path, np.asarray(A))
            return np.load(path, mmap_mode="r")
        if way == "broadcast" and A.ndim and len(A):
            return np.broadcast_to(A[:1], A.shape)
        if way == "unaligned" and A.dtype.kind in "fiu":
            raw = np.zeros(A.nbytes + 1, np.uint8)
            raw[1:] = np.frombuffer(A.tobytes(), np.uint8)
            return raw[1:].view(A.dtype).reshape(A.shape)
        A = A.copy()
        A.setflags(write=False)
        return A

    def shape(self, A: np.ndarray) -> np.ndarray:
        if not A.ndim:
            return A[None]
        return self.one_of([A.ravel(), A[None], A[..., None], A.T, A[:0], A[..., :0], A.ravel()[0] if A.size else A])

    def container(self, A: np.ndarray) -> Any:
        import scipy.sparse

        ways = [
            lambda: A.tolist(),
            lambda: tuple(map(tuple, A)) if A.ndim == 2 else tuple(A.ravel().tolist()),
            lambda: [*A.tolist(), [1.0]] if A.ndim else A,
            lambda: None,
            lambda: "rows",
            lambda: {"a": 1},
            lambda: 3.0,
            lambda: iter(A.ravel().tolist()),
            lambda: np.ma.masked_invalid(A) if A.dtype.kind == "f" else A,
            lambda: scipy.sparse.csr_matrix(A) if A.ndim == 2 and A.dtype.kind == "f" else A,
            lambda: array.array("d", A.ravel()) if A.dtype.kind == "f" else A,
            lambda: memoryview(np.ascontiguousarray(A)) if A.dtype.kind == "f" and A.size else A,
            lambda: range(5),
            lambda: np.zeros(len(A) if A.ndim else 1, dtype=[("a", "f8"), ("b", "i4")]),
            lambda: type("Odd", (), {"__array__": lambda self, *_, **__: A, "shape": (3, 3), "dtype": None})(),
        ]
        try:
            return self.one_of(ways)()
        except (TypeError, ValueError):  # no such thing of this array
            return A

    def splice(self, data: bytes) -> bytes:
        """Bytes replaced, put in and left out."""
        text = bytearray(data)
        for _ in range(self.one_of([1, 1, 2, 5])):
            place, n = int(self.rng.integers(len(text) + 1)), self.one_of([0, 1, 1, 4, 30])
            text[place : place + n] = self.rng.bytes(self.one_of([0, n, n, 1, 8]))
        return bytes(text)

    def number(self) -> Any:
        return self.one_of([*SPECIAL, 0, 1, -1, 2, 3, 7, 10**30, 2**31, 2**63, 1e-10, 0.5, 1.5, "1", None, [], True, 1j,
                            np.float32(2), np.int8(3), np.array(2.0), np.array([2, 3])])  # fmt: skip


# --- calls

VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("OnlineLSSVMRegressor", {"max_basis": 6}),
    ("OnlineLSSVMRegressor", {"max_basis": 6, "engine": "inverse"}),
    ("OnlineLSSVMRegressor", {"max_basis": 5, "forgetting": [1.0, 0.9], "linear": True}),
    ("OnlineLSSVMRegressor", {"max_basis": 5, "exact_rows": 9}),
    ("OnlineLSSVMRegressor", {"window": 9}),
    ("OnlineLSSVMRegressor", {"kernel": "polynomial", "max_basis": 6}),
    ("OnlineLSSVMRegressor", {"kernel": "linear", "max_basis": 6, "admission": "novelty"}),
    ("OnlineLSSVMClassifier", {"max_basis": 6}),
    ("OnlineLSSVMRegressor", {"max_basis": 5, "gamma": "auto"}),
    ("OnlineLSSVMClassifier", {"max_basis": 5, "gamma": "auto"}),
    ("KRLSRegressor", {}),
    ("KRLSRegressor", {"alpha": 0.1, "max_basis": 5, "on_full": "drop-oldest"}),
    ("KernelLSTD", {"max_basis": 6}),
    ("KernelLSTD", {"max_basis": 6, "kernel": "polynomial", "trace_decay": 0.5}),
    ("SubsetLSSVMRegressor", {"max_basis": 5, "random_state": 0}),
    ("SubsetLSSVMRegressor", {"max_basis": 5, "basis": "random", "alpha": 0.1, "kernel": "linear", "random_state": 0}),
    ("SubsetLSSVMClassifier", {"max_basis": 5, "random_state": 0}),
    ("OROLSRegressor", {"max_basis": 5}),
    ("OROLSRegressor", {"max_basis": 5, "kernel": "polynomial", "selection": "error-reduction"}),
    ("OROLSClassifier", {"max_basis": 5}),
    ("LSSVMRegressor", {}),
    ("LSSVMRegressor", {"kernel": "polynomial", "alpha": "loo"}),
    ("LSSVMClassifier", {}),
    ("SparseLSSVMRegressor", {}),
    ("SparseLSSVMRegressor", {"kernel": "linear"}),
    ("SparseLSSVMClassifier", {}),
    ("FeatureVectorSelector", {"n_components": 5, "random_state": 0}),
]

#: Attributes that no prediction is computed from.
RECORDS = ("gcv_path_", "score_path_", "path_", "_path", "loo_grid_")

#: What scikit-learn's scores, files that are not there and foreign iterables raise themselves; a path is a Parquet
#: file's, and ImportError the result where no reader is installed.
FOREIGN = {
    "score": (OverflowError, ZeroDivisionError),
    "fit_batches": (FileNotFoundError, ImportError, NotImplementedError),
}

#: Methods that take whole numbers or nothing, and which number.
BY_NUMBER = ("prune", "resize", "at_size", "health", "sparsify", "get_feature_names_out")
BY_ROWS = ("predict", "decision_function", "predict_proba", "transform", "predict_one")
BY_ROWS_AND_TARGETS = (
    "fit", "partial_fit", "refit", "prequential", "update", "accumulate", "select_basis", "score", "fit_transform",
)  # fmt: skip


def states_are_finite(value: Any) -> bool:
    """Whether every float array below a state is finite, but for records of errors that do not exist: of one row."""
    if isinstance(value, np.ndarray):
        return value.dtype.kind != "f" or bool(np.isfinite(value).all())
    if isinstance(value, dict):
        return all(states_are_finite(v) for k, v in value.items() if k not in RECORDS)
    if isinstance(value, (list, tuple)):
        return all(states_are_finite(v) for v in value)
    return True


class Fuzzer:
    """One call after another on models that live on between them."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.folder = tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None)
        self.mutate = Mutator(self.rng, Path(self.folder.name))
        self.fresh = [pickle.dumps(self._made(*variant)) for variant in VARIANTS]
        self.models = [pickle.loads(data) for data in self.fresh]
        self.counts = {"answered": 0, "refused": 0}
        self._last: tuple[Any, ...] = ("nothing",)

    @property
    def last(self) -> str:
        """The last call, described on access: that costs as much as the call."""
        return "".join(part if isinstance(part, str) else describe(part) for part in self._last)

    @staticmethod
    def _made(name: str, parameters: dict[str, Any]) -> Any:
        X, y, labels = table()
        model = getattr(kernsift, name)(**{"gamma": 0.5, **parameters})
        if model.gamma == "auto":  # a stream, with a challenger
            X, y, labels = table(BEGINNINGS[-1] + 10)
            return model.partial_fit(X, labels if is_classifier(model) else y)
        if name == "KernelLSTD":
            return model.partial_fit(X[:-1], y[:-1], X[1:])
        return model.fit(X, labels if is_classifier(model) else y)

    def step(self) -> None:
        """One call with mutated input."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            self._step()

    def _step(self) -> None:
        m = self.mutate
        i = int(self.rng.integers(len(self.models)))
        if m.chance(0.02):
            self.models[i] = pickle.loads(self.fresh[i])
        model = self.models[i]
        if m.chance(0.04):
            self._construct(i)
            return
        names = [n for n in (*BY_NUMBER, *BY_ROWS, *BY_ROWS_AND_TARGETS, "merge", "fit_batches") if hasattr(model, n)]
        name = m.one_of(names)
        arguments, options = self._arguments(model, name)
        self._last = (f"{type(model).__name__}.{name}", arguments, options)
        before = pickle.dumps(model)
        if not self._call(getattr(model, name), arguments, options):
            # iterators of batches are used up, and a fitted model's generator of random numbers may have moved on
            if pickle.dumps(model) != before:
                self.models[i] = pickle.loads(before)
                raise WrongError(f"an error changed the model: {self.last}")
        elif not states_are_finite(model.__getstate__()):
            self.models[i] = pickle.loads(self.fresh[i])
            raise WrongError(f"NaN or infinity in the state after {self.last}")

    def _arguments(self, model: Any, name: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
        m = self.mutate
        if name in BY_NUMBER:
            return ((m.number(),) if m.chance(0.9) and name not in ("health", "get_feature_names_out") else ()), {}
        if name == "merge":
            return tuple(m.one_of([model, None, 3, m.rows()]) for _ in range(m.one_of([0, 1, 2]))), {}
        X = m.rows()
        if name in BY_ROWS:
            return (X if name != "predict_one" else self._row(X),), {"return_std": True} if (
                name == "predict" and m.chance(0.3) and "return_std" in model.predict.__code__.co_varnames
            ) else {}
        y = m.targets(X, is_classifier(model))
        if name == "fit_batches":
            return (m.one_of([[(X, y)], [(X, y), (X, y)], [], X, [X], None, iter([(X, y)])]),), {}
        if name == "update":
            return (self._row(X), m.number(), m.number()), {}
        if type(model).__name__ == "KernelLSTD":
            flags = m.one_of([None, None, self.rng.integers(0, 2, length(y)).astype(bool), y])
            return (X, y, m.one_of([X, m.rows()])), {"terminal": flags}
        options: dict[str, Any] = {}
        if name in ("fit", "partial_fit", "refit", "prequential", "accumulate", "select_basis", "score"):
            weight = m.weights(X)
            if weight is not None:
                options["sample_weight"] = weight
        if name == "prequential" and m.chance(0.3):
            options["delay"] = m.number()
        if name in ("partial_fit", "select_basis") and is_classifier(model) and m.chance(0.3):
            options["classes"] = m.one_of([[0, 1, 2], [0, 1], [], None, ["a", "b"], m.rows()])
        return (X, y), options

    def _row(self, X: Any) -> Any:
        return X[0] if isinstance(X, np.ndarray) and X.ndim == 2 and len(X) and self.mutate.chance(0.8) else X

    def _construct(self, i: int) -> None:
        """Parameters of any kind: refused in `fit`, or a model that is as it should be."""
        m, (name, parameters) = self.mutate, VARIANTS[i]
        kind = getattr(kernsift, name)
        names = list(kind().get_params())
        chosen = {m.one_of(names): m.number() for _ in range(m.one_of([1, 1, 2]))}
        chosen.pop("verbose", None)
        if isinstance(chosen.get("n_jobs"), (int, float)):
            chosen.pop("n_jobs")
        model = kind(**{"gamma": 0.5, **parameters, **chosen})
        X, y, labels = table()
        arguments = (X[:-1], y[:-1], X[1:]) if name == "KernelLSTD" else (X, labels if is_classifier(model) else y)
        self._last = (f"{name}(**{chosen!r})",)
        fit = model.partial_fit if name == "KernelLSTD" else model.fit
        if self._call(fit, arguments, {}) and not states_are_finite(model.__getstate__()):
            raise WrongError(f"NaN or infinity in the state of {self.last}")

    def _call(self, method: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> bool:
        """Whether it returned a result."""
        refusals = (ValueError, TypeError, MemoryError, *FOREIGN.get(method.__name__, ()))

        def answered() -> bool:
            method(*arguments, **options)
            return True

        with in_time():
            try:
                return bool(judged(self, answered, refusals))
            except WrongError:
                raise
            except Exception as error:
                raise WrongError(f"{type(error).__name__}: {error}: {self.last}") from error


def judged(fuzzer: Any, attempt: Callable[[], Any], refusals: tuple[Any, ...]) -> Any:
    """The result of an attempt, or None where it raises with a text; the caller uses in_time()."""
    try:
        answer = attempt()
    except refusals as error:
        fuzzer.counts["refused"] += 1
        if len(str(error)) < 12:
            raise WrongError(f"{error!r} says too little: {fuzzer.last}") from error
        return None
    except Hang:
        raise WrongError(f"no end after {PATIENCE} s: {fuzzer.last}") from None
    fuzzer.counts["answered"] += 1
    return answer


@contextlib.contextmanager
def in_time() -> Any:
    if not hasattr(signal, "setitimer"):
        yield
        return

    def ring(*_: Any) -> None:
        raise Hang

    old = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


def describe(value: Any) -> str:
    if isinstance(value, np.ndarray):
        flags = "C" if value.flags.c_contiguous else "F" if value.flags.f_contiguous else "strided"
        return f"<{value.dtype} {value.shape} {flags} {np.array2string(value.ravel()[:4])}>"
    if isinstance(value, (tuple, dict)):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return "(" + ", ".join(f"{k}={describe(v)}" for k, v in items) + ")" if value else ""
    return f"{value!r:.60}"
