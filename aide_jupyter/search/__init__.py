"""What to try next, from the tree: no I/O, no clock, no global randomness."""
