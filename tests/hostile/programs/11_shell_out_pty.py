# kind: 11 shell-out
# expect: denied | crashed:OSError
# namespaced: denied | crashed

def solve(model, question):
    import pty

    return str(pty.spawn('/bin/sh'))
