# kind: 17 giant
# expect: timeout:wall | budget_exceeded
# limits: wall_s=1

import json
import os
import struct


def frame(value):
    data = json.dumps(value).encode()
    os.write(3, struct.pack('<I', len(data)) + data)


import time

def solve(model, question):
    for _ in range(8):
        frame({'kind': 'call', 'id': 1, 'messages': [{'role': 'user', 'content': 'x' * 200_000}], 'temperature': 0, 'max_tokens': 1, 'stop': [], 'n': 1, 'further': {}})
    time.sleep(1000)
