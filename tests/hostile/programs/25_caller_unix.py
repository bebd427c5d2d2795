# kind: 25 caller
# expect: denied:network

import json
import socket

def solve(model, question):
    socket.socket(socket.AF_UNIX).connect(json.loads(question)['unix_path'])
