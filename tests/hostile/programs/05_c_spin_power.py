# kind: 5 c-spin
# expect: timeout:cpu

def solve(model, question):
    return str(len(str(pow(7, 9 ** 9 ** 2, 10 ** 9) + pow(3, 1 << 27) % 10)))
