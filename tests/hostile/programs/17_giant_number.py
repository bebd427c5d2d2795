# kind: 17 giant
# expect: bad_answer

def solve(model, question):
    return 7 ** 100_000
