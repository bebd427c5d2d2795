# kind: 16 babbler
# expect: protocol_error

import os
import time

def solve(model, question):
    data = b'{"kind": "done", "answer": NaN, "type": 1e999}'
    os.write(3, len(data).to_bytes(4, 'little') + data)
    time.sleep(1)
