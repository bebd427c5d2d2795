# kind: 21 proc-peeker
# expect: denied:file
# namespaced: denied:file | crashed:FileNotFoundError

import json
import os

def solve(model, question):
    return open(f"/proc/{json.loads(question)['host_pid']}/environ").read()
