# kind: 7 one-gulp
# expect: memory_limit

def solve(model, question):
    return str(len(bytearray(2 ** 40)))
