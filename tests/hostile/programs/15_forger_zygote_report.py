# kind: 15 forger
# expect: protocol_error

import json
import os
import struct


def frame(value):
    data = json.dumps(value).encode()
    os.write(3, struct.pack('<I', len(data)) + data)

def solve(model, question):
    frame({'run': 1, 'status': 0, 'cpu_s': 0.0, 'rss': 0})
    return '42'
