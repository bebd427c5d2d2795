# kind: 9 fork-bomb
# expect: denied:process

import ctypes

def solve(model, question):
    libc = ctypes.CDLL(None, use_errno=True)
    while True:
        if libc.fork() < 0:
            raise OSError(ctypes.get_errno(), 'fork')
