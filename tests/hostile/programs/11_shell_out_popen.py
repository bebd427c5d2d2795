# kind: 11 shell-out
# expect: denied:process

import os

def solve(model, question):
    return os.popen('id').read()
