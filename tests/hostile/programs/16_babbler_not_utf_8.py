# kind: 16 babbler
# expect: protocol_error

import os
import time

def solve(model, question):
    os.write(3, b'\x04\0\0\0\xff\xfe\xfd\xfc')
    time.sleep(1)
