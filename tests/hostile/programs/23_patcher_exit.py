# kind: 23 patcher
# expect: no_answer | ok

import os

def solve(model, question):
    os._exit = lambda *_: None
    os.write = lambda *_: 10 ** 9
    return 'unsent'
