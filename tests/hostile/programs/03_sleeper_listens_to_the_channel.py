# kind: 3 sleeper
# expect: timeout:wall
# limits: wall_s=1

import os

def solve(model, question):
    return os.read(3, 100).decode()
