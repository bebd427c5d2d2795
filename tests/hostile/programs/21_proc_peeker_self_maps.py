# kind: 21 proc-peeker
# expect: denied:file
# namespaced: denied:file | crashed:FileNotFoundError

def solve(model, question):
    return open('/proc/self/maps').read()
