# kind: 28 wreck
# expect: crashed | memory_limit | timeout:cpu | ok

def solve(model, question):
    return eval('+'.join(['1'] * 200_000))
