# kind: 6 hoarder
# expect: memory_limit

def solve(model, question):
    blocks = []
    while True:
        blocks.append(b'x' * 2 ** 20)
