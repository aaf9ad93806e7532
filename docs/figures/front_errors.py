"""The front page: error over a stream that drifts."""

import matplotlib.pyplot as plt
from race import draw_errors

figure, axis = plt.subplots(figsize=(5.2, 3.4))
draw_errors(axis)
