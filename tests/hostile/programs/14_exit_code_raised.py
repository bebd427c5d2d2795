# kind: 14 exit-code
# expect: crashed:SystemExit

def solve(model, question):
    raise SystemExit
