# kind: 20 gold-memory
# expect: ok
# answer: 0

import gc
import sys

def solve(model, question):
    seen = []
    frame = sys._getframe()
    while frame:
        seen.append(repr(frame.f_locals) + repr(list(frame.f_globals)))
        frame = frame.f_back
    seen += [repr(each)[:1000] for each in gc.get_objects() if isinstance(each, (dict, list, tuple, set))]
    wanted = ''.join(['GOLD', '-IS-42'])
    return str(sum(wanted in each for each in seen))
