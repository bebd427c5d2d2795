# kind: 23 patcher
# expect: ok | bad_answer | no_answer | crashed

import builtins

def solve(model, question):
    builtins.isinstance = lambda *_: True
    return object()
