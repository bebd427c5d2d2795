# kind: 16 babbler
# expect: protocol_error

import os
import time

def solve(model, question):
    data = b'[' * 900_000
    os.write(3, len(data).to_bytes(4, 'little'))
    while data:
        data = data[os.write(3, data):]
    time.sleep(1)
