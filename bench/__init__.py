"""The bench: what Fumehood costs, each figure beside the bare engine's in the same run."""
