# kind: 28 wreck
# expect: crashed:Evil | timeout:cpu

class Evil(Exception):
    def __str__(self):
        raise Evil

    __repr__ = __str__

def solve(model, question):
    raise Evil
