"""How long a test waits for what will come: so long that only what hangs is ended by it."""

from typing import Final

# The one guard against hanging. It is never what a test is about: a machine that is slow, or does
# ten other things beside, comes to its end all the same. tests/house holds that there is no other.
HANG_SECONDS: Final = 300.0
