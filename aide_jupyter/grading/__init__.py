"""Metrics: their directions, and how a number is read or computed."""
