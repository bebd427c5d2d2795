# kind: 6 hoarder
# expect: ok | memory_limit

import ctypes

def solve(model, question):
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    n = 0
    while libc.malloc(ctypes.c_size_t(2 ** 20)):
        n += 1
    return 'ok'
