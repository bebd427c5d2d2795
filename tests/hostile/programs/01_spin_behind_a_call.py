# kind: 1 spin
# expect: timeout:cpu
# limits: n_calls=1000000, n_completion_tokens=1000000000

import threading


def spin():
    while True:
        pass

def solve(model, question):
    threading.Thread(target=spin).start()
    while True:
        model('wait with me')
