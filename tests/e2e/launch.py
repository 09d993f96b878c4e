"""Stand-in for ``python -m podiumd`` until it exists."""
import os, sys
from pathlib import Path
from podiumd import app, config_load, logs, paths

fd = int(sys.argv[sys.argv.index("--ready-fd") + 1])
loaded = config_load.load(os.environ, sys.platform, Path.home())
paths.prepare(loaded.places, os.getuid())
logs.set_up("json")
app.run(loaded.config, loaded.places, os.environ, lambda: os.write(fd, b"ready\n") and None)
