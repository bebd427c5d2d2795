# kind: 17 giant
# expect: bad_answer

def solve(model, question):
    return 'x' * 70_000
