"""A run as one self-contained HTML file: gathered in Python, drawn with Jinja2, browsed with plain script."""
