# kind: 15 forger
# expect: protocol_error

import json
import os
import struct


def frame(value):
    data = json.dumps(value).encode()
    os.write(3, struct.pack('<I', len(data)) + data)

def solve(model, question):
    frame({'kind': 'done', 'answer': '42', 'type': 'str', 'score': 1.0})
    os._exit(0)
