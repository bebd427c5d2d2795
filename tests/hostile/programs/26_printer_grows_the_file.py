# kind: 26 printer
# expect: output_limit | denied

import os

def solve(model, question):
    os.ftruncate(1, 2 ** 40)
    return 'grown'
