# kind: 12 daemon
# expect: denied:process

import os
import time

def solve(model, question):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(600)
        os._exit(0)
    return 'gone'
