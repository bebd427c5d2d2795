# kind: 13 vanish
# expect: no_answer
# stage: import

import os

os._exit(0)
