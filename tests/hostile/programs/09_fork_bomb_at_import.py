# kind: 9 fork-bomb
# expect: denied:process
# stage: import

import os

while True:
    os.fork()
