"""gpytorch's sparse GP, in a module of its own: it may live in another environment, without kernsift."""

from __future__ import annotations

from typing import Any

import numpy as np

from .measures import THREADS, Array, Arrays, Rival, Task, predicted


class SGPR:
    """gpytorch's sparse GP: inducing points on the landmarks, `steps` of Adam on the marginal likelihood."""

    def __init__(self, a: Arrays, task: Task, steps: int = 0) -> None:
        import torch

        torch.set_num_threads(THREADS)
        self.task, self.steps, self.basis = (
            task,
            steps,
            a["X"][np.random.RandomState(0).permutation(len(a["X"]))[: task["m"]]],
        )

    def fit(self, X: Array, y: Array) -> SGPR:
        import gpytorch
        import torch

        to = lambda values: torch.from_numpy(np.array(values))  # noqa: E731
        g, alpha = self.task["gamma"], self.task["alpha"]

        class Model(gpytorch.models.ExactGP):
            def __init__(self, basis: Array, likelihood: Any) -> None:
                super().__init__(to(X), to(y), likelihood)
                self.mean_module = gpytorch.means.ConstantMean()
                base = gpytorch.kernels.RBFKernel()
                base.lengthscale = (2 * g) ** -0.5
                self.covar_module = gpytorch.kernels.InducingPointKernel(base, to(basis), likelihood)

            def forward(self, x: Any) -> Any:
                return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

        likelihood = gpytorch.likelihoods.GaussianLikelihood()
        likelihood.noise = alpha
        self.model = Model(self.basis, likelihood).double()
        if self.steps:
            self.model.train()
            loss = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, self.model)
            adam = torch.optim.Adam(self.model.parameters(), lr=0.1)
            for _ in range(self.steps):
                adam.zero_grad()
                (-loss(self.model(to(X)), to(y))).backward()
                adam.step()
        self.model.eval()
        self.predict(X[:10])  # its caches are made by the first prediction
        return self

    def predict(self, X: Array) -> Array:
        import gpytorch
        import torch

        with torch.no_grad(), gpytorch.settings.fast_pred_var():
            return self.model(torch.from_numpy(np.array(X))).mean.numpy()


def rival(steps: int) -> Rival:
    def make(a: Arrays, task: Task) -> tuple[Any, Any]:
        import gpytorch  # noqa: F401

        model = SGPR(a, task, steps)

        def judge(_: Any) -> dict[str, Any]:
            return predicted(model, a, task, size=task["m"])

        return lambda: model.fit(a["X"], a["y"]), judge

    return make


RIVALS: dict[str, Rival] = {"gpytorch SGPR": rival(0), "gpytorch SGPR, 30 steps of Adam": rival(30)}
