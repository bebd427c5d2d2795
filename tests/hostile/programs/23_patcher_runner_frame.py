# kind: 23 patcher
# expect: protocol_error

import os
import sys

def solve(model, question):
    wire = sys._getframe(1).f_globals['wire']
    wire.send(3, {'kind': 'done', 'answer': '42', 'type': 'str', 'status': 'ok', 'score': 1})
    os._exit(0)
