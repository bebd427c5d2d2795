# kind: 17 giant
# expect: bad_answer

def solve(model, question):
    return 'x' * 2_000_000
