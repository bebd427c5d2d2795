# kind: 25 caller
# expect: denied:network

import json
import socket

def solve(model, question):
    ours, theirs = socket.socketpair(type=socket.SOCK_DGRAM)
    ours.sendto(b'x', json.loads(question)['unix_path'])
