"""Widgets for notebooks: the tree of a run."""
