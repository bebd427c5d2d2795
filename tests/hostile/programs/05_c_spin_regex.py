# kind: 5 c-spin
# expect: timeout:cpu

import re

def solve(model, question):
    return str(re.match(r'(a+)+$', 'a' * 64 + 'b'))
