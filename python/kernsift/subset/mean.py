"""The mean of models that differ in the random rows their kernels were chosen from, as one expansion."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from ..base.canonical import draw_seed
from ..base.expansion import KernelExpansion
from ..base.kernel import ChosenKernel, kernel_name
from ..base.targets import Rows
from ..base.validation import forget


def members(model: Any, rows: Rows, count: int) -> list[Any]:
    """Models of the same kernel and widths, each from random rows of its own."""
    seeds = np.random.default_rng(draw_seed(model.random_state)).integers(2**31, size=count)
    chosen: ChosenKernel | None = model._chosen
    fitted: list[Any] = []
    for seed in seeds.tolist():
        member = copy.copy(model)
        member.n_models, member.keep_path, member.random_state, member._chosen = 1, False, seed, chosen
        if fitted and isinstance(model.gamma, str) and model.gamma == "median":  # of rows drawn
            member.gamma = fitted[0].gamma_
        member._fit_rows(rows)
        learned = getattr(member, "learned_gamma_", None)
        if learned is not None and (chosen is None or chosen.learned is None):  # once
            chosen = ChosenKernel(kernel_name(model), learned) if chosen is None else chosen.with_widths(learned)
        fitted.append(member)
    return fitted


def mean_of(fitted: list[Any]) -> tuple[KernelExpansion, float]:
    """Kernels of all, each once, and the means of their coefficients; and the mean temperature of classifiers.

    Scores count in proportion to the temperature they are multiplied by: log odds are averaged.
    """
    parts = [member._model() for member in fitted]
    temperatures = np.array([getattr(member, "temperature_", 1.0) for member in fitted])
    temperature = float(np.exp(np.log(temperatures).mean()))
    factors = temperatures / temperature / len(fitted)
    indices = np.concatenate([part.indices for part in parts])
    vectors = np.concatenate([part.basis for part in parts])
    _, first, place = np.unique(vectors, axis=0, return_index=True, return_inverse=True)
    coef = np.zeros((len(first), parts[0].coef.shape[1]))
    np.add.at(coef, place.ravel(), np.concatenate([f * part.coef for f, part in zip(factors, parts, strict=True)]))
    order = np.argsort(first)  # as they were chosen
    means = (
        np.average([getattr(part, name) for part in parts], axis=0, weights=factors if name == "intercept" else None)
        for name in ("intercept", "cost", "noise_variance")
    )
    intercept, cost, noise = (np.ascontiguousarray(mean) for mean in means)
    intercept *= factors.sum()
    kept = first[order]
    expansion = KernelExpansion(
        parts[0].kernel_arguments,
        np.ascontiguousarray(vectors[kept]),
        indices[kept],
        np.ascontiguousarray(coef[order]),
        intercept,
        cost,
        noise,
    )
    return expansion, temperature


def fit_mean(model: Any, rows: Rows) -> None:
    """Make a model the mean of as many as it says."""
    if model.polish:
        raise ValueError(f"n_models={model.n_models!r} unites kernels of the same widths and polish moves them")
    fitted = members(model, rows, int(model.n_models))
    model._expansion, temperature = mean_of(fitted)
    forget(model, "_basis", "_path", "_state", "_ridge", "path_", "log_loss_")
    if hasattr(fitted[0], "temperature_"):
        model.temperature_ = temperature
    for name in ("gamma_", "n_samples_seen_", "learned_gamma_"):
        if hasattr(fitted[0], name):
            setattr(model, name, getattr(fitted[0], name))
    model.alpha_ = float(np.mean([member.alpha_ for member in fitted]))
