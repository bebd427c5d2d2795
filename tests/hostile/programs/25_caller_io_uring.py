# kind: 25 caller
# expect: ok
# answer: -1

import ctypes

def solve(model, question):
    libc = ctypes.CDLL(None, use_errno=True)
    return str(libc.syscall(425, 8, ctypes.create_string_buffer(256)))
