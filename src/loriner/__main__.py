"""`python -m loriner`."""

import sys

from loriner.cli import main

sys.exit(main())
