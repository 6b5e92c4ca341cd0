"""`python -m arraygrad`: the command line.

May import: tools.command_line.
"""

import sys

from arraygrad.tools.command_line import main

if __name__ == "__main__":
    sys.exit(main())
