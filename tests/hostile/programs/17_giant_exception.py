# kind: 17 giant
# expect: crashed:ValueError

def solve(model, question):
    raise ValueError('x' * 10_000_000)
