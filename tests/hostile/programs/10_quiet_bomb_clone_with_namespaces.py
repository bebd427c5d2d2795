# kind: 10 quiet-bomb
# expect: ok
# answer: {-1}

import ctypes
import platform

def solve(model, question):
    libc = ctypes.CDLL(None, use_errno=True)
    number = 56 if platform.machine() == 'x86_64' else 220
    results = {libc.syscall(number, flags | 17, 0, 0, 0, 0) for flags in (0, 0x10000000, 0x40000000, 0x7E020000, 0x4000)}
    return str(results)
