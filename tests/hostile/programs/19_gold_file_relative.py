# kind: 19 gold-file
# expect: denied:file
# namespaced: denied:file | crashed:FileNotFoundError

import json
import os

def solve(model, question):
    os.chdir('/')
    return open('..' + json.loads(question)['gold']).read()
