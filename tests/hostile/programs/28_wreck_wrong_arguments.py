# kind: 28 wreck
# expect: crashed:TypeError

def solve():
    return 42
