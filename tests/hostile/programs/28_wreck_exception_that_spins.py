# kind: 28 wreck
# expect: timeout:cpu

class Evil(Exception):
    def __str__(self):
        while True:
            pass

def solve(model, question):
    raise Evil
