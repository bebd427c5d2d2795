# kind: 18 flooder
# expect: budget_exceeded

def solve(model, question):
    return model('more', max_tokens=2_000_000_000)
