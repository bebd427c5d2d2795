# kind: 27 assassin
# expect: denied:process

import fcntl
import os
import socket

def solve(model, question):
    ours, theirs = socket.socketpair()
    fcntl.ioctl(ours, 0x8901, os.getppid().to_bytes(4, 'little'))
    fcntl.ioctl(ours, 0x5452, (1).to_bytes(4, 'little'))
