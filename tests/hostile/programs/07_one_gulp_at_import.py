# kind: 7 one-gulp
# expect: memory_limit

table = [[0] * 10 ** 8 for _ in range(10 ** 8)]


def solve(model, question):
    return 'x'
