# kind: 14 exit-code
# expect: crashed:SystemExit

import sys

def solve(model, question):
    sys.exit(0)
