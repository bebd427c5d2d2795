# kind: 13 vanish
# expect: no_answer | timeout
# limits: wall_s=5

import os
import time

def solve(model, question):
    os.close(3)
    time.sleep(1000)
