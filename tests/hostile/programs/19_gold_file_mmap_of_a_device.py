# kind: 19 gold-file
# expect: denied:file | crashed:FileNotFoundError

def solve(model, question):
    return str(len(open('/dev/mem', 'rb').read(100)) + len(open('/dev/kmsg', 'rb').read(100)))
