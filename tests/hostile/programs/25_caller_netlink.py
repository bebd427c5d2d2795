# kind: 25 caller
# expect: denied:network

import socket

def solve(model, question):
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
