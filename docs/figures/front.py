"""The README's picture: both panels side by side."""

import matplotlib.pyplot as plt
from race import draw_costs, draw_errors

figure, (left, right) = plt.subplots(1, 2, figsize=(8.0, 3.4), width_ratios=[1.9, 1])
draw_errors(left)
draw_costs(right)
