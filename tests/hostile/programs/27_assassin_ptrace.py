# kind: 27 assassin
# expect: denied:process

import ctypes
import os

def solve(model, question):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(16, os.getppid(), 0, 0) < 0:
        raise OSError(ctypes.get_errno(), 'ptrace')
