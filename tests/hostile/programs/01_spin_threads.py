# kind: 1 spin
# expect: timeout:cpu

import threading


def spin():
    while True:
        pass

def solve(model, question):
    workers = [threading.Thread(target=spin) for _ in range(4)]
    for each in workers:
        each.start()
    for each in workers:
        each.join()
