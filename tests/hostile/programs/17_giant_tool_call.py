# kind: 17 giant
# expect: protocol_error

from tools import search

def solve(model, question):
    return search('x' * 3_000_000)
