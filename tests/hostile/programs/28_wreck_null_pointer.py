# kind: 28 wreck
# expect: crashed:signal11

import ctypes

def solve(model, question):
    ctypes.string_at(0)
