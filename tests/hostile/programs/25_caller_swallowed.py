# kind: 25 caller
# expect: ok
# answer: none

import socket

def solve(model, question):
    try:
        socket.socket()
    except OSError:
        return 'none'
