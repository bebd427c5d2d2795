# kind: 24 writer
# expect: denied

import os

def solve(model, question):
    return str(os.memfd_create('x'))
