# kind: 27 assassin
# expect: denied:process

import os
import signal

def solve(model, question):
    os.killpg(0, signal.SIGKILL)
