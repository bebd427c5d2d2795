# kind: 3 sleeper
# expect: timeout:wall
# limits: wall_s=1

import time

def solve(model, question):
    time.sleep(1_000_000)
