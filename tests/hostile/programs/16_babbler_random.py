# kind: 16 babbler
# expect: protocol_error

import os
import time

def solve(model, question):
    os.write(3, b'\xff' + os.urandom(9999))
    time.sleep(1)
