# kind: 27 assassin
# expect: denied:process

import os
import signal

def solve(model, question):
    os.kill(-1, signal.SIGKILL)
