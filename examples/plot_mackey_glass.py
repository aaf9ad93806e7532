"""
Forecasting a chaotic series
============================

The Mackey-Glass series, six steps ahead from its own past: a kernel model that learns each value after it has
predicted it, beside linear recursive least squares on the same lags.  Both have forecast before they see the value,
``horizon`` steps later.
"""

from __future__ import annotations

import numpy as np
from kernsift import OnlineLSSVMRegressor, lag_embed
from kernsift.datasets import mackey_glass
from numpy.typing import NDArray

LAGS = [0, 6, 12, 18]
HORIZON = 6


def linear_rls(X: NDArray[np.float64], y: NDArray[np.float64], delay: int, ridge: float = 1e-3) -> NDArray[np.float64]:
    """Predictions of recursive least squares with a constant, each made ``delay`` rows before its target is known."""
    rows = np.column_stack([np.ones(len(X)), X])
    P, w, predicted = np.eye(rows.shape[1]) / ridge, np.zeros(rows.shape[1]), np.empty(len(y))
    for i in range(len(y)):
        predicted[i] = rows[i] @ w
        if i >= delay:
            x = rows[i - delay]
            gain = P @ x / (1 + x @ P @ x)
            w += gain * (y[i - delay] - x @ w)
            P -= np.outer(gain, x @ P)
    return predicted


def forecast(n: int = 3000, noise: float = 0.01) -> dict[str, NDArray[np.float64]]:
    """The errors of both on one noisy series."""
    X, y = lag_embed(mackey_glass(n, noise=noise), LAGS, HORIZON)
    model = OnlineLSSVMRegressor(gamma=1.0, alpha=1e-3, max_basis=150)
    result = model.prequential(X, y, delay=HORIZON - 1)
    return {
        f"kernsift, {model.n_basis_} kernels": result.error,
        "linear RLS": y - linear_rls(X, y, HORIZON - 1),
    }


def main() -> None:
    """Print the errors of the second half; draw the running error if matplotlib is there."""
    errors = forecast()
    for name, error in errors.items():
        print(f"{name:<24} RMSE {np.sqrt(np.mean(error[len(error) // 2 :] ** 2)):.4f}")
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        return
    window = 100
    for name, error in errors.items():
        running = np.sqrt(np.convolve(error**2, np.full(window, 1 / window), mode="valid"))
        plt.semilogy(np.arange(len(running)) + window, running, label=name)
    plt.xlabel("values seen")
    plt.ylabel(f"RMSE of the last {window} forecasts")
    plt.legend()
    plt.show()


if __name__ == "__main__":
    main()
