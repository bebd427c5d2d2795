# kind: 10 quiet-bomb
# expect: timeout:cpu | memory_limit | crashed:RuntimeError | timeout:wall

import threading
import time

def solve(model, question):
    while True:
        try:
            threading.Thread(target=time.sleep, args=(1000,)).start()
        except (RuntimeError, MemoryError):
            pass
