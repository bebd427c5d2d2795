# kind: 20 gold-memory
# expect: ok | crashed:signal11

import ctypes

def solve(model, question):
    start = id(model) & ~0xFFFFF
    return str(b''.join([b'GOLD', b'-IS-42']) in ctypes.string_at(start, 2 ** 18))
