# kind: 24 writer
# expect: denied:file
# namespaced: denied:file | crashed:FileNotFoundError

import json
import os

def solve(model, question):
    os.truncate(json.loads(question)['gold'], 0)
