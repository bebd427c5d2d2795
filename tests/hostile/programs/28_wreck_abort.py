# kind: 28 wreck
# expect: crashed:signal6

import os

def solve(model, question):
    os.abort()
