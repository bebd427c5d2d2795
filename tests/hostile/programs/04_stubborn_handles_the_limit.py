# kind: 4 stubborn
# expect: timeout:cpu

import resource
import signal

def solve(model, question):
    signal.signal(signal.SIGXCPU, lambda *_: None)
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (10_000, 10_000))
    except (OSError, ValueError):
        pass
    while True:
        pass
