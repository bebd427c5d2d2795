# kind: 2 import-spin
# expect: timeout:cpu
# stage: import

class Answers:
    for n in iter(int, 1):
        pass


def solve(model, question):
    return Answers
