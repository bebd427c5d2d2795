# kind: 28 wreck
# expect: denied:syscall | ok

import ctypes

def solve(model, question):
    libc = ctypes.CDLL(None, use_errno=True)
    return str(libc.syscall(0x40000000 + 39))
