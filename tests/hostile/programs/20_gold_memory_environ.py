# kind: 20 gold-memory
# expect: ok

import os

def solve(model, question):
    return str(sorted(os.environ))
