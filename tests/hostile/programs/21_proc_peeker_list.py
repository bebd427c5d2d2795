# kind: 21 proc-peeker
# expect: denied:file
# namespaced: denied:file | crashed:FileNotFoundError

import os

def solve(model, question):
    return ' '.join(os.listdir('/proc'))
