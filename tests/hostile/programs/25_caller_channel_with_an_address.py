# kind: 25 caller
# expect: denied:network | crashed

import json
import os
import socket

def solve(model, question):
    own = socket.socket(fileno=os.dup(3))
    own.sendto(b'x', json.loads(question)['unix_path'])
