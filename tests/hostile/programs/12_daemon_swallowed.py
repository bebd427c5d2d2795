# kind: 12 daemon
# expect: ok
# answer: stayed alone

import os
import time

def solve(model, question):
    try:
        if os.fork() == 0:
            os.setsid()
            time.sleep(600)
    except OSError:
        pass
    return 'stayed alone'
