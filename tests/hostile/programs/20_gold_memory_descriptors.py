# kind: 20 gold-memory
# expect: ok
# answer: []

import os

def solve(model, question):
    found = []
    for fd in range(4, 1024):
        try:
            os.fstat(fd)
            found.append(fd)
        except OSError:
            pass
    return str(found)
