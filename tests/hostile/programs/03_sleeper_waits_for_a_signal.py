# kind: 3 sleeper
# expect: timeout:wall
# limits: wall_s=1

import signal

def solve(model, question):
    signal.pause()
