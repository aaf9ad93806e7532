"""Forecasts of a series that goes on: lags, several steps, intervals."""

from .forecaster import KernelForecaster

__all__ = ["KernelForecaster"]
