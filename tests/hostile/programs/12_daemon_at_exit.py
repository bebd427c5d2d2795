# kind: 12 daemon
# expect: ok
# answer: later

import atexit
import os

def solve(model, question):
    atexit.register(os.system, 'sleep 600')
    return 'later'
