# kind: 26 printer
# expect: output_limit | ok

import os

def solve(model, question):
    os.lseek(1, 2 ** 40, os.SEEK_SET)
    os.write(1, b'x')
    return 'far'
