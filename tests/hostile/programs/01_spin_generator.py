# kind: 1 spin
# expect: timeout:cpu

import itertools

def solve(model, question):
    return max(len(str(n)) for n in itertools.count())
