# kind: 7 one-gulp
# expect: memory_limit

def solve(model, question):
    return 'x' * 10 ** 12
