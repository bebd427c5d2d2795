# kind: 5 c-spin
# expect: timeout:cpu

import itertools

def solve(model, question):
    return min(itertools.permutations(range(14)))
