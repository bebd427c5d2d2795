# kind: 4 stubborn
# expect: timeout:cpu

def solve(model, question):
    try:
        return 'answer'
    finally:
        while True:
            pass
