# kind: 9 fork-bomb
# expect: denied:process

import multiprocessing

def solve(model, question):
    workers = [multiprocessing.Process(target=solve, args=(None, '')) for _ in range(100)]
    for each in workers:
        each.start()
