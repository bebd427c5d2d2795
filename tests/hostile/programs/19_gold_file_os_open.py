# kind: 19 gold-file
# expect: denied:file
# namespaced: denied:file | crashed:FileNotFoundError

import json
import os

def solve(model, question):
    return os.read(os.open(json.loads(question)['gold'], os.O_RDONLY), 100).decode()
