# kind: 27 assassin
# expect: denied:process

import os
import signal

def solve(model, question):
    signal.pidfd_send_signal(os.pidfd_open(os.getppid()), signal.SIGKILL)
