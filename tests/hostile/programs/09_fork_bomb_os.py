# kind: 9 fork-bomb
# expect: denied:process

import os

def solve(model, question):
    while True:
        os.fork()
