# kind: 27 assassin
# expect: denied:process

import json
import os
import signal

def solve(model, question):
    os.kill(json.loads(question)['host_pid'], signal.SIGTERM)
