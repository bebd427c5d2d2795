# kind: 27 assassin
# expect: crashed:signal15

import os
import signal

def solve(model, question):
    os.kill(os.getpid(), signal.SIGTERM)
