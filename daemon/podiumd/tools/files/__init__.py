"""Files and directories that others may have made: read, written, walked, removed."""
