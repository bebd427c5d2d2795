# kind: 19 gold-file
# expect: denied:file
# namespaced: denied:file | crashed:FileNotFoundError

import json
import os

def solve(model, question):
    os.symlink(json.loads(question)['gold'], '/tmp/link')
    return open('/tmp/link').read()
