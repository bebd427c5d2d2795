# kind: 18 flooder
# expect: budget_exceeded

def solve(model, question):
    return model('more', n=1_000_000)
