# kind: 27 assassin
# expect: denied:process

import os

def solve(model, question):
    os.setpriority(os.PRIO_USER, 0, 19)
