"""The model gateway, what is said to models and what is read from their answers, and the built-in author."""
