# kind: 27 assassin
# expect: denied:process

import ctypes
import os
import platform

def solve(model, question):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(234 if platform.machine() == 'x86_64' else 131, os.getppid(), os.getppid(), 9) < 0:
        raise OSError(ctypes.get_errno(), 'tgkill')
