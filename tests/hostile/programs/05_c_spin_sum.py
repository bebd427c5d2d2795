# kind: 5 c-spin
# expect: timeout:cpu

def solve(model, question):
    return sum(range(10 ** 13))
