"""A recipe as data: loaded, checked against its own tables, expanded."""
