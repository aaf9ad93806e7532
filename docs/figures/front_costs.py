"""The front page: what a row costs."""

import matplotlib.pyplot as plt
from race import draw_costs

figure, axis = plt.subplots(figsize=(2.9, 3.4))
draw_costs(axis)
