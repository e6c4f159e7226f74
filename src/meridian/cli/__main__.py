"""`python -m meridian.cli` is `meridian`."""

import sys

from meridian.cli import main

sys.exit(main())
