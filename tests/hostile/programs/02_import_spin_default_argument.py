# kind: 2 import-spin
# expect: timeout:cpu
# stage: import

def spin():
    while True:
        pass


def solve(model, question, table=spin()):
    return table
