# kind: 18 flooder
# expect: budget_exceeded

from tools import search

def solve(model, question):
    for _ in range(10_000):
        try:
            search('more')
        except Exception:
            pass
