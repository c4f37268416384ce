"""What a kernel sees of the data, and the typed statistics that a model sees of it."""
