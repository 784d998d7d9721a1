"""The request and answer shapes agents speak, each to a chat request and back: the only place that translates."""
