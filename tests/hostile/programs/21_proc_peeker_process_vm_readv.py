# kind: 21 proc-peeker
# expect: denied:process

import ctypes
import os

def solve(model, question):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.process_vm_readv(os.getppid(), None, 0, None, 0, 0) < 0:
        raise OSError(ctypes.get_errno(), 'process_vm_readv')
