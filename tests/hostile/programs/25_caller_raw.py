# kind: 25 caller
# expect: denied:network

import socket

def solve(model, question):
    socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)
