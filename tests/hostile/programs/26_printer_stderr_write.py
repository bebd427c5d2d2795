# kind: 26 printer
# expect: output_limit

import os

def solve(model, question):
    while True:
        os.write(2, b'x' * 10_000)
