# kind: 24 writer
# expect: denied:file | ok
# namespaced: denied:file | crashed:FileNotFoundError

import json
import shutil

def solve(model, question):
    shutil.rmtree(json.loads(question)['folder'])
    return 'done'
