# kind: 24 writer
# expect: denied
# namespaced: denied:file | crashed:FileNotFoundError

from multiprocessing import shared_memory

def solve(model, question):
    shared_memory.SharedMemory(create=True, size=2 ** 20)
