# kind: 10 quiet-bomb
# expect: timeout:cpu

import os

def solve(model, question):
    while True:
        try:
            os.fork()
        except OSError:
            pass
