# kind: 11 shell-out
# expect: denied:process

import os

def solve(model, question):
    os.execv('/bin/sh', ['sh', '-c', 'echo hello'])
