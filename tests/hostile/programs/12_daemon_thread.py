# kind: 12 daemon
# expect: ok
# answer: left a thread

import threading
import time

def solve(model, question):
    threading.Thread(target=time.sleep, args=(600,)).start()
    return 'left a thread'
