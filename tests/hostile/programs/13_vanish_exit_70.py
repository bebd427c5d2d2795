# kind: 13 vanish
# expect: no_answer

import os

def solve(model, question):
    os._exit(70)
