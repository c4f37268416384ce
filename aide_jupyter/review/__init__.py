"""Who decides whether a program may run, and what they are shown about it."""
