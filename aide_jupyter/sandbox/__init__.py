"""The restricted kernel: the jail, the proof that it contains, the client that a hostile kernel cannot use."""
