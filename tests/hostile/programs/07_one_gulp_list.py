# kind: 7 one-gulp
# expect: memory_limit

def solve(model, question):
    return str(len([0] * 10 ** 11))
