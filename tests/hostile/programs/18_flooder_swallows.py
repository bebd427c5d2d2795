# kind: 18 flooder
# expect: budget_exceeded

def solve(model, question):
    for _ in range(10_000):
        try:
            model('more')
        except Exception:
            pass
    return 'done'
