# kind: 20 gold-memory
# expect: ok
# answer: ['harness.py', 'harness.py']

import sys

def solve(model, question):
    return str(sys.argv + sys.orig_argv)
