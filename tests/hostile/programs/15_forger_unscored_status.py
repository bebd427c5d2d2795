# kind: 15 forger
# expect: crashed:infra_error | crashed

import json
import os
import struct


def frame(value):
    data = json.dumps(value).encode()
    os.write(3, struct.pack('<I', len(data)) + data)

def solve(model, question):
    frame({'kind': 'error', 'type': 'infra_error', 'message': '', 'traceback': '', 'causes': []})
    os._exit(70)
