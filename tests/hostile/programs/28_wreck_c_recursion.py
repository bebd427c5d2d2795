# kind: 28 wreck
# expect: crashed:RecursionError | crashed:signal11 | crashed:SyntaxError | memory_limit

def solve(model, question):
    nested = []
    for _ in range(1_000_000):
        nested = [nested]
    return repr(nested)
