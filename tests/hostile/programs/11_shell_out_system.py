# kind: 11 shell-out
# expect: ok

import json
import os

def solve(model, question):
    return str(os.system('touch ' + json.loads(question)['folder'] + '/touched'))
