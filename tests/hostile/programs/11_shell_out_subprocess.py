# kind: 11 shell-out
# expect: denied:process

import json
import subprocess

def solve(model, question):
    return subprocess.run(['touch', json.loads(question)['folder'] + '/touched'], capture_output=True).stdout
