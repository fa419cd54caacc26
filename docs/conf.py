"""Settings of Sphinx: `make docs` builds the pages, and a warning is an error."""

from importlib.metadata import version as installed

project = "whence"
author = "The whence developers"
copyright = "The whence developers, Apache-2.0"
version = release = installed("whence")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode"]
exclude_patterns = ["_build", "_ext"]
html_theme = "furo"
html_title = "whence"
html_static_path = ["_static"]
html_show_sourcelink = False

# Docstrings quote code with single backticks, as the pages do.
default_role = "literal"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 88
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3
