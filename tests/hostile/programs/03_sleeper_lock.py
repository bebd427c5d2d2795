# kind: 3 sleeper
# expect: timeout:wall
# limits: wall_s=1

import threading

def solve(model, question):
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()
