"""The list of system calls that a child may make, as a seccomp filter that the kernel runs.

Written for x86_64 and aarch64. A refused call fails with an error number that tells its class: ENETUNREACH
for the network, EPERM for processes and privileges, EROFS for changes of files, ENOSYS for what is not listed
(Landlock adds EACCES for files). A call of another architecture ends the process. Standard library only.

What a file descriptor leads to is not decided here but by Landlock (`landlock`); the two belong together.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

# name:number on x86_64:number on aarch64; an empty number where the architecture lacks the call.
_ALLOWED = """
read:0:63 write:1:64 readv:19:65 writev:20:66 pread64:17:67 pwrite64:18:68 preadv:295:69 pwritev:296:70
preadv2:327:286 pwritev2:328:287 lseek:8:62 close:3:57 close_range:436:436 dup:32:23 dup2:33: dup3:292:24
open:2: openat:257:56 stat:4: fstat:5:80 lstat:6: newfstatat:262:79 statx:332:291 access:21:
faccessat:269:48 faccessat2:439:439 readlink:89: readlinkat:267:78 getdents:78: getdents64:217:61
getcwd:79:17 chdir:80:49 fchdir:81:50 statfs:137:43 fstatfs:138:44 fadvise64:221:223 ftruncate:77:46
fsync:74:82 fdatasync:75:83 flock:73:32 umask:95:166 pipe:22: pipe2:293:59 select:23: pselect6:270:72
poll:7: ppoll:271:73 epoll_create:213: epoll_create1:291:20 epoll_ctl:233:21 epoll_wait:232:
epoll_pwait:281:22 epoll_pwait2:441:441 eventfd:284: eventfd2:290:19 mmap:9:222 mprotect:10:226
munmap:11:215 mremap:25:216 madvise:28:233 brk:12:214 msync:26:227 mincore:27:232 mlock:149:228
munlock:150:229 membarrier:324:283 rt_sigaction:13:134 rt_sigprocmask:14:135 rt_sigreturn:15:139
rt_sigpending:127:136 rt_sigtimedwait:128:137 rt_sigsuspend:130:133 sigaltstack:131:132
restart_syscall:219:128 pause:34: alarm:37: getitimer:36:102 setitimer:38:103 nanosleep:35:101
clock_nanosleep:230:115 clock_gettime:228:113 clock_getres:229:114 gettimeofday:96:169 time:201:
times:100:153 futex:202:98 futex_waitv:449:449 set_robust_list:273:99 get_robust_list:274:100
set_tid_address:218:96 rseq:334:293 arch_prctl:158: sched_yield:24:124 sched_getaffinity:204:123
getcpu:309:168 getpid:39:172 gettid:186:178 getppid:110:173 getpgrp:111: getpgid:121:155 getsid:124:156
getuid:102:174 geteuid:107:175 getgid:104:176 getegid:108:177 getresuid:118:148 getresgid:120:150
getgroups:115:158 getpriority:140:141 capget:125:90 uname:63:160 sysinfo:99:179 getrusage:98:165
getrlimit:97:163 getrandom:318:278 wait4:61:260 waitid:247:95 exit:60:93 exit_group:231:94 recvfrom:45:207
getsockname:51:204 getpeername:52:205 getsockopt:55:209 shutdown:48:210
"""
_NETWORK = """
socket:41:198 connect:42:203 bind:49:200 listen:50:201 accept:43:202 accept4:288:242 sendmsg:46:211
sendmmsg:307:269 recvmsg:47:212 recvmmsg:299:243 setsockopt:54:208
"""
_PROCESS = """
fork:57: vfork:58: execve:59:221 execveat:322:281 tkill:200:130 rt_sigqueueinfo:129:138
rt_tgsigqueueinfo:297:240 pidfd_open:434:434 pidfd_send_signal:424:424 pidfd_getfd:438:438 ptrace:101:117
process_vm_readv:310:270 process_vm_writev:311:271 process_madvise:440:440 kcmp:312:272 setsid:112:157
setpgid:109:154 setpriority:141:140 sched_setaffinity:203:122 sched_setscheduler:144:119
sched_setparam:142:118 sched_setattr:314:274 ioprio_set:251:30 unshare:272:97 setns:308:268 prctl:157:167
seccomp:317:277 personality:135:92 setrlimit:160:164 setuid:105:146 setgid:106:144 setreuid:113:145
setregid:114:143 setresuid:117:147 setresgid:119:149 setgroups:116:159 setfsuid:122:151 setfsgid:123:152
capset:126:91 bpf:321:280 perf_event_open:298:241 userfaultfd:323:282 io_uring_setup:425:425
io_uring_enter:426:426 io_uring_register:427:427 keyctl:250:219 add_key:248:217 request_key:249:218
landlock_create_ruleset:444:444 landlock_add_rule:445:445 landlock_restrict_self:446:446 mount:165:40
umount2:166:39 pivot_root:155:41 chroot:161:51 move_mount:429:429 open_tree:428:428 fsopen:430:430
fsmount:432:432 fsconfig:431:431 fspick:433:433 mount_setattr:442:442 swapon:167:224 swapoff:168:225
reboot:169:142 init_module:175:105 finit_module:313:273 delete_module:176:106 kexec_load:246:104
kexec_file_load:320:294 sethostname:170:161 setdomainname:171:162 settimeofday:164:170 clock_settime:227:112
clock_adjtime:305:266 adjtimex:159:171 syslog:103:116 acct:163:89 quotactl:179:60 iopl:172: ioperm:173:
timer_create:222:107 mq_open:240:180 msgget:68:186 semget:64:190 shmget:29:194
"""
_FILE = """
mkdir:83: mkdirat:258:34 rmdir:84: unlink:87: unlinkat:263:35 rename:82: renameat:264:38 renameat2:316:276
link:86: linkat:265:37 symlink:88: symlinkat:266:36 creat:85: mknod:133: mknodat:259:33 truncate:76:45
fallocate:285:47 chmod:90: fchmod:91:52 fchmodat:268:53 chown:92: fchown:93:55 lchown:94: fchownat:260:54
utime:132: utimes:235: utimensat:280:88 futimesat:261: setxattr:188:5 lsetxattr:189:6 fsetxattr:190:7
removexattr:197:14 lremovexattr:198:15 fremovexattr:199:16 memfd_create:319:279 memfd_secret:447:
name_to_handle_at:303:264 open_by_handle_at:304:265 inotify_init:253: inotify_init1:294:26
inotify_add_watch:254:27 fanotify_init:300:262 fanotify_mark:301:263 sendfile:40:71 copy_file_range:326:285
splice:275:76 tee:276:77 vmsplice:278:75
"""
_CHECKED = """
clone:56:220 fcntl:72:25 ioctl:16:29 kill:62:129 tgkill:234:131 prlimit64:302:261 sendto:44:206
socketpair:53:199
"""

_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""Column of the tables above and the kernel's AUDIT_ARCH constant. Source: linux/audit.h."""
_X32_BIT = 0x40000000
_ALLOW, _ERRNO, _KILL_PROCESS = 0x7FFF0000, 0x00050000, 0x80000000
_LOAD, _EQUAL, _AT_LEAST, _AND, _JUMP, _RETURN = 0x20, 0x15, 0x35, 0x54, 0x05, 0x06
_NR_OFFSET, _ARCH_OFFSET, _ARGS_OFFSET = 0, 4, 16
_ALL = 0xFFFFFFFF

SELF = -1
"""Stands for the process id of the child, which each child puts in before it loads the filter."""


@dataclass(frozen=True, slots=True)
class _Test:
    """Whether `argument & mask == value` (or not), on the low (or high) half of a 64-bit argument."""

    argument: int
    value: int
    mask: int = _ALL
    high: bool = False
    equal: bool = True


def _pointer_is_null(argument: int) -> tuple[_Test, _Test]:
    return _Test(argument, 0), _Test(argument, 0, high=True)


_THREAD = 0x00010000 | 0x00000100  # CLONE_THREAD | CLONE_VM
_NAMESPACES = 0x7E020000  # the CLONE_NEW… flags
_FCNTL_PLAIN = (0, 1, 2, 3, 1030)  # F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC
_FCNTL_SETFL, _O_ASYNC = 4, 0x2000
_IOCTL_PLAIN = (
    0x5401,
    0x5413,
    0x541B,
    0x5421,
    0x5450,
    0x5451,
)  # TCGETS TIOCGWINSZ FIONREAD FIONBIO FIO(N)CLEX
_SIGKILL = 9
_AF_UNIX, _SOCK_STREAM = 1, 1

CHECKS: Mapping[str, tuple[int, tuple[tuple[_Test, ...], ...]]] = {
    "clone": (errno.EPERM, ((_Test(0, _THREAD, _THREAD | _NAMESPACES),),)),
    "fcntl": (
        errno.EPERM,
        (*((_Test(1, each),) for each in _FCNTL_PLAIN), (_Test(1, _FCNTL_SETFL), _Test(2, 0, _O_ASYNC))),
    ),
    "ioctl": (errno.EPERM, tuple((_Test(1, each),) for each in _IOCTL_PLAIN)),
    "kill": (errno.EPERM, ((_Test(0, SELF), _Test(1, _SIGKILL, equal=False)),)),
    "tgkill": (errno.EPERM, ((_Test(0, SELF), _Test(2, _SIGKILL, equal=False)),)),
    "prlimit64": (errno.EPERM, ((_Test(0, 0), *_pointer_is_null(2)),)),
    "sendto": (errno.ENETUNREACH, (_pointer_is_null(4),)),
    "socketpair": (errno.ENETUNREACH, ((_Test(0, _AF_UNIX), _Test(1, _SOCK_STREAM, 0xF)),)),
}
"""Calls whose arguments decide: the error number of a refusal, and the alternatives of which one must hold.

`fcntl` and `ioctl` matter: unfiltered they let a child have signals sent to any process of its user. A child
may signal itself, but not with SIGKILL: an unexplained one is then no doing of the program.
"""

Instruction = tuple[int, int, int, int]
"""Code, jump if true, jump if false, operand (which may be SELF)."""
Code = tuple[Instruction, ...]


def program(machine: str, unchecked: Collection[str] = ()) -> Code:
    """The filter for an architecture; calls in `unchecked` pass with any arguments (for tests).

    Raises:
        KeyError: `machine` is neither x86_64 nor aarch64.
    """
    column, audit_arch = _ARCHITECTURES[machine]
    guard = [(_LOAD, 0, 0, _ARCH_OFFSET), (_EQUAL, 1, 0, audit_arch), _give(_KILL_PROCESS)]
    number = [(_LOAD, 0, 0, _NR_OFFSET), (_AT_LEAST, 0, 1, _X32_BIT), _give(_KILL_PROCESS)]
    return (*guard, *number, *_search(_intervals(_leaves(column, unchecked))))


def numbers(table: str, column: int) -> dict[str, int]:
    """System call numbers by name."""
    rows = [entry.split(":") for entry in table.split()]
    return {row[0]: int(row[1 + column]) for row in rows if row[1 + column]}


def _leaves(column: int, unchecked: Collection[str]) -> dict[int, Code]:
    """What is decided for each listed call."""
    classes = ((_ALLOWED, _ALLOW), (_NETWORK, _ERRNO | errno.ENETUNREACH), (_PROCESS, _ERRNO | errno.EPERM))
    leaves: dict[int, Code] = {}
    for table, action in (*classes, (_FILE, _ERRNO | errno.EROFS)):
        leaves |= {number: (_give(action),) for number in numbers(table, column).values()}
    for name, number in numbers(_CHECKED, column).items():
        leaves[number] = (_give(_ALLOW),) if name in unchecked else _check(name)
    return leaves


def _give(action: int) -> Instruction:
    return (_RETURN, 0, 0, action)


def _check(name: str) -> Code:
    """Allows the call when all tests of one alternative hold."""
    refusal, alternatives = CHECKS[name]
    code: list[Instruction] = []
    for tests in alternatives:
        code += _all_of(tests)
    return (*code, _give(_ERRNO | refusal))


def _all_of(tests: Sequence[_Test]) -> list[Instruction]:
    code: list[Instruction] = [_give(_ALLOW)]
    for test in reversed(tests):
        past = len(code)
        jumps = (0, past) if test.equal else (past, 0)
        mask = [] if test.mask == _ALL else [(_AND, 0, 0, test.mask)]
        load = (_LOAD, 0, 0, _ARGS_OFFSET + 8 * test.argument + 4 * test.high)
        code = [load, *mask, (_EQUAL, *jumps, test.value), *code]
    return code


def _intervals(leaves: Mapping[int, Code]) -> list[tuple[int, Code]]:
    """First number of each run of calls that are decided alike, in order, covering all numbers."""
    unlisted: Code = (_give(_ERRNO | errno.ENOSYS),)
    found: list[tuple[int, Code]] = []
    for number in range(max(leaves) + 2):
        leaf = leaves.get(number, unlisted)
        if not found or found[-1][1] != leaf:
            found.append((number, leaf))
    return found


def _search(intervals: Sequence[tuple[int, Code]]) -> Code:
    """A binary search: the kernel tries every number when it loads a filter, so its depth is what costs."""
    if len(intervals) == 1:
        return intervals[0][1]
    middle = len(intervals) // 2
    low, high = _search(intervals[:middle]), _search(intervals[middle:])
    pivot = intervals[middle][0]
    if len(low) < 256:
        return ((_AT_LEAST, len(low), 0, pivot), *low, *high)
    return ((_AT_LEAST, 0, 1, pivot), (_JUMP, 0, 0, len(low)), *low, *high)


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("jt", ctypes.c_uint8),
        ("jf", ctypes.c_uint8),
        ("k", ctypes.c_uint32),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


class Filter:
    """The filter of this machine, built once; each child puts its process id in and loads it."""

    def __init__(self, code: Code) -> None:
        self._own_pid = [index for index, each in enumerate(code) if each[3] == SELF]
        filled = [_Instruction(*each[:3], each[3] & _ALL) for each in code]
        self._array = (_Instruction * len(code))(*filled)
        self._program = _Program(len(code), ctypes.cast(self._array, ctypes.c_void_p))

    def load(self, libc: ctypes.CDLL) -> None:
        """Confines the calling process for good. It must have given up new privileges. Raises OSError."""
        for index in self._own_pid:
            self._array[index].k = os.getpid()
        set_seccomp, mode_filter = 22, 2
        if libc.prctl(set_seccomp, mode_filter, ctypes.byref(self._program), 0, 0):
            number = ctypes.get_errno()
            raise OSError(number, f"seccomp: {os.strerror(number)}")


def missing() -> str:
    """Why seccomp cannot be used here, or nothing."""
    if platform.system() != "Linux":
        return f"{platform.system()} has no seccomp"
    if platform.machine() not in _ARCHITECTURES:
        return f"there is no system call table for {platform.machine()}"
    get_seccomp = 21
    return "" if ctypes.CDLL(None).prctl(get_seccomp, 0, 0, 0, 0) >= 0 else "the kernel has no seccomp"
