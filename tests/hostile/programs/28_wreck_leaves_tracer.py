# kind: 28 wreck
# expect: ok | no_answer | crashed

import sys


def boom(*_):
    raise SystemError

def solve(model, question):
    sys.settrace(boom)
    sys.setprofile(boom)
    return 'traced'
