# kind: 3 sleeper
# expect: timeout:wall
# limits: wall_s=1

import select

def solve(model, question):
    select.poll().poll()
