# kind: 27 assassin
# expect: denied:process

import os
import resource

def solve(model, question):
    resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (1, 1))
