# kind: 15 forger
# expect: protocol_error

import json
import os
import struct


def frame(value):
    data = json.dumps(value).encode()
    os.write(3, struct.pack('<I', len(data)) + data)

def solve(model, question):
    frame({'kind': 'call', 'id': 1, 'messages': 'hello', 'temperature': 0, 'max_tokens': 1, 'stop': [], 'n': 1, 'further': {}})
    return '42'
