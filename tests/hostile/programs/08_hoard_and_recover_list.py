# kind: 8 hoard-and-recover
# expect: ok
# answer: STILL HERE

def solve(model, question):
    blocks = []
    try:
        while True:
            blocks.append(b'x' * 2 ** 20)
    except MemoryError:
        blocks.clear()
    return model('still here')
