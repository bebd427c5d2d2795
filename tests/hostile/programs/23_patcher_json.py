# kind: 23 patcher
# expect: ok | no_answer | bad_answer | crashed | protocol_error

import json

def solve(model, question):
    json.dumps = lambda *_, **__: '{"kind": "done", "answer": "patched", "type": "str", "reward": 1}'
    return 'plain'
