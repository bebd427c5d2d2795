# kind: 2 import-spin
# expect: timeout:cpu
# stage: import

while True:
    pass
