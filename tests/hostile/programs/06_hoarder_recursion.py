# kind: 6 hoarder
# expect: memory_limit | crashed:RecursionError | timeout:cpu | crashed:signal11

import sys

def solve(model, question):
    sys.setrecursionlimit(10 ** 9)

    def deeper(n):
        return deeper(n + 1) + 1

    return deeper(0)
