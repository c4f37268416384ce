"""The journal and its views for people: the audit notebook, the verifier, the exported solution, the report."""
