"""The tools of the native agent: files, search, a workspace, their registry."""
