"""Widgets for notebooks: :class:`TreeView`, the tree of a run."""

from .tree import TreeView

__all__ = ["TreeView"]
