// The seccomp filter of sandboxes, whose process only waits. Upstream asks for the runtime's own, which lets a process do much more, and
// which runc takes 15 ms of processor time to make since it is for three architectures. This one is for the machine's own and takes 2 ms.
// Besides what waiting takes it allows what runc does between loading a filter and starting the program, in all its versions.
const architectures: Readonly<Record<string, string>> = { x64: "SCMP_ARCH_X86_64", arm64: "SCMP_ARCH_AARCH64" };

/** Names that an architecture does not have are left out by runc. */
const allowed = `
  access alarm arch_prctl brk capget capset chdir clock_getres clock_gettime clock_nanosleep close close_range dup dup2 dup3
  epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 execve execveat exit exit_group faccessat
  faccessat2 fadvise64 fchdir fchmod fchown fcntl fdatasync fgetxattr flistxattr flock fork fstat fstatfs fsync futex futex_waitv
  get_robust_list getcpu getcwd getdents getdents64 getegid geteuid getgid getgroups getitimer getpgid getpgrp getpid getppid
  getpriority getrandom getresgid getresuid getrlimit getrusage getsid gettid gettimeofday getuid getxattr ioctl ioprio_get ioprio_set
  kill lgetxattr listxattr llistxattr lseek lstat madvise membarrier memfd_create mincore mlock mlock2 mlockall mmap mprotect mremap
  msync munlock munlockall munmap nanosleep newfstatat open openat openat2 pause pidfd_open pidfd_send_signal pipe pipe2 pkey_alloc
  pkey_free pkey_mprotect poll ppoll prctl pread64 preadv preadv2 prlimit64 pselect6 pwrite64 pwritev pwritev2 read readahead readlink
  readlinkat readv recvfrom recvmsg restart_syscall rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn
  rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getattr
  sched_getparam sched_getscheduler sched_rr_get_interval sched_setaffinity sched_setattr sched_setparam sched_setscheduler sched_yield
  seccomp select sendmsg sendto set_robust_list set_tid_address setfsgid setfsuid setgid setgroups setitimer setpgid setpriority
  setregid setresgid setresuid setreuid setrlimit setsid setuid shutdown sigaltstack stat statfs statx sysinfo tgkill time
  timer_create timer_delete timer_getoverrun timer_gettime timer_settime timerfd_create timerfd_gettime timerfd_settime times tkill
  umask uname vfork wait4 waitid write writev`;

/** CLONE_NEWNS, …NEWCGROUP, …NEWUTS, …NEWIPC, …NEWUSER, …NEWPID, …NEWNET. */
const namespaceFlags = 0x7e020000;
const noSuchCall = 38;

/** Undefined for an architecture that it was not made for. */
export function sandboxProfile(arch: string): object | undefined {
  const architecture = architectures[arch];
  if (architecture === undefined) return undefined;
  return {
    defaultAction: "SCMP_ACT_ERRNO",
    architectures: [architecture],
    syscalls: [
      { names: allowed.trim().split(/\s+/), action: "SCMP_ACT_ALLOW" },
      // Threads, but no new namespaces.
      {
        names: ["clone"],
        action: "SCMP_ACT_ALLOW",
        args: [{ index: 0, value: namespaceFlags, valueTwo: 0, op: "SCMP_CMP_MASKED_EQ" }],
      },
      // Its flags are out of a filter's sight: who is told that there is no such call takes clone.
      { names: ["clone3"], action: "SCMP_ACT_ERRNO", errnoRet: noSuchCall },
    ],
  };
}
