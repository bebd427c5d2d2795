# kind: 28 wreck
# expect: crashed:SyntaxError
# stage: import

def solve(model, question)
    return 1
