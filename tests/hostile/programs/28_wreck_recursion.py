# kind: 28 wreck
# expect: crashed:RecursionError

def solve(model, question):
    return solve(model, question)
