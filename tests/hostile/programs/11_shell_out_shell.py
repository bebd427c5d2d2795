# kind: 11 shell-out
# expect: denied:process

import subprocess

def solve(model, question):
    return subprocess.check_output('id', shell=True, text=True)
