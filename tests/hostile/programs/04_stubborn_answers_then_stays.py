# kind: 4 stubborn
# expect: timeout:wall | ok

import atexit
import threading
import time

def solve(model, question):
    atexit.register(time.sleep, 1_000_000)
    threading.Thread(target=time.sleep, args=(1_000_000,)).start()
    return 'answer'
