# kind: 18 flooder
# expect: budget_exceeded

def solve(model, question):
    try:
        model.batch(['more'] * 10_000)
    except Exception:
        pass
    return 'done'
