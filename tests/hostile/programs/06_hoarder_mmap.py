# kind: 6 hoarder
# expect: memory_limit | denied | crashed:OSError

import mmap

def solve(model, question):
    areas = []
    while True:
        area = mmap.mmap(-1, 2 ** 23)
        area.write(b'x' * 2 ** 23)
        areas.append(area)
