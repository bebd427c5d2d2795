# kind: 26 printer
# expect: output_limit

import os

def solve(model, question):
    while True:
        os.write(1, b'x' * 10_000)
