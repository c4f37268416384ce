"""The built-in author: rules that read the prompts any model gets and write complete programs."""
