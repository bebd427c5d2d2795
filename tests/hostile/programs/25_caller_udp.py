# kind: 25 caller
# expect: denied:network

import json
import socket

def solve(model, question):
    socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', json.loads(question)['udp_port']))
