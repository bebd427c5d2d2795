# kind: 19 gold-file
# expect: ok
# answer: -1

import ctypes
import json
import os

def solve(model, question):
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.open(json.loads(question)['gold'].encode(), 0)
    return str(fd)
