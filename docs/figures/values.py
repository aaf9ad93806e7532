"""Values of a random walk by kernel LSTD: against the truth, and the error for each trace."""

import matplotlib.pyplot as plt
import numpy as np
from common import BLUE, GREY, ORANGE, rmse
from kernsift import KernelLSTD

STATES = 51


def walks(n, seed):
    """Transitions of `n` walks on 0..50 from the middle; falling off the right end pays 1, the left nothing."""
    rng = np.random.default_rng(seed)
    S, r, nxt, last, first = [], [], [], [], []
    for _ in range(n):
        s = STATES // 2
        start = True
        while True:
            to = s + rng.choice([-3, -2, -1, 1, 2, 3])
            over = not 0 <= to < STATES
            S.append(s), r.append(float(to >= STATES)), nxt.append(np.clip(to, 0, STATES - 1)), last.append(over)
            first.append(start)
            if over:
                break
            s, start = to, False
    return tuple(np.array(v) for v in (np.array(S)[:, None] * 1.0, r, np.array(nxt)[:, None] * 1.0, last, first))


P, b = np.zeros((STATES, STATES)), np.zeros(STATES)
for s in range(STATES):
    for step in (-3, -2, -1, 1, 2, 3):
        if 0 <= s + step < STATES:
            P[s, s + step] += 1 / 6
        b[s] += (s + step >= STATES) / 6
truth = np.linalg.solve(np.eye(STATES) - P, b)
grid = np.arange(STATES)[:, None] * 1.0
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.1))
left.plot(truth, color=GREY, linewidth=3, alpha=0.5, label="true value")
for n, colour, style in ((5, ORANGE, ":"), (50, BLUE, "-")):
    S, r, nxt, last, first = walks(n, 7)
    model = KernelLSTD(gamma=0.01, alpha=1e-2, discount=1.0).partial_fit(S, r, nxt, terminal=last, start=first)
    left.plot(model.predict(grid), style, color=colour, label=f"{n} walks, {model.n_basis_} kernels")
left.set(xlabel="state", ylabel="value")
left.legend(fontsize=8)
decays = [0.0, 0.3, 0.6, 0.8, 0.9, 0.95, 1.0]
for n, colour, style in ((5, ORANGE, "s:"), (50, BLUE, "o-")):
    errors = []
    for decay in decays:
        found = []
        for seed in range(100, 112):
            S, r, nxt, last, first = walks(n, seed)
            model = KernelLSTD(gamma=0.01, alpha=1e-2, discount=1.0, trace_decay=decay)
            model.partial_fit(S, r, nxt, terminal=last, start=first)
            found.append(rmse(model.predict(grid), truth))
        errors.append(np.mean(found))
    right.plot(decays, errors, style, color=colour, label=f"{n} walks")
right.set(xlabel="trace_decay (λ)", ylabel="RMSE of the value", ylim=(0, None))
right.legend(fontsize=8)
