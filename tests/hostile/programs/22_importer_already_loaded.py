# kind: 22 importer
# expect: ok
# answer: []

import sys

def solve(model, question):
    return str([name for name in sys.modules if 'loriner' in name])
