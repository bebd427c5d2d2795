# kind: 25 caller
# expect: denied:network

import json
import socket

def solve(model, question):
    socket.create_connection(('127.0.0.1', json.loads(question)['tcp_port']), 2)
