# kind: 25 caller
# expect: denied:network

import socket

def solve(model, question):
    return str(socket.getaddrinfo('example.com', 80))
