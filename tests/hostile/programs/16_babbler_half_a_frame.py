# kind: 16 babbler
# expect: protocol_error

import os

def solve(model, question):
    os.write(3, b'\xff\0\0\0{')
    os._exit(0)
