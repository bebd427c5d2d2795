# kind: 27 assassin
# expect: denied:process

import fcntl
import os
import socket

def solve(model, question):
    ours, theirs = socket.socketpair()
    fcntl.fcntl(ours, fcntl.F_SETFL, os.O_ASYNC)
