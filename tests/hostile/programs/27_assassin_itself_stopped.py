# kind: 27 assassin
# expect: timeout:wall
# limits: wall_s=1

import os
import signal

def solve(model, question):
    os.kill(os.getpid(), signal.SIGSTOP)
    return 'woken'
