/* PID 1 of every trial: starts the agent, reaps what it leaves, and reports what only the inside can see.
 *
 * It is put into a copy of the agent's image (see guard.py). Being PID 1 it cannot be killed from inside its
 * PID name space; being non-dumpable it cannot be traced or read by the agent although both run as one user.
 * A seccomp user notification (seccomp_unotify(2)) shows it each attempt to change a path and to reach an
 * address; every call continues as it was: the guard observes, the read-only root and the missing network
 * enforce. Refused are calls it could not see (other system call tables, io_uring) and calls that one process may
 * make on another of its user: lowering the guard's own resource limits or priority would blind or kill it. Not
 * seen are addresses given to sendmsg(2) (its own descriptor is sent that way), a path that is swapped between our
 * look and the kernel's, and what a link made in scratch leads to: the list tells of attempts, it is no fence. When the agent ends (or TERM's grace is over) everything else is killed, and one line, led by a
 * nonce the agent cannot know, is written to stderr: the last bytes of that stream.
 *
 * Environment (none of it reaches the agent):
 *   G_NONCE  leads the report      G_KEEP  names the agent may see, separated by '='
 *   G_USER   `uid:gid` it must be, and no other group
 *   G_DIRS   folders to make       G_FREE  path prefixes not worth reporting, both separated by ':'
 *   G_SCRATCH  the scratch mount   G_GRACE_MS  from TERM to KILL
 *   G_CWD    where the agent starts, if not where we do
 *   G_WORK   the workspace to make, G_WORK_IN: so many bytes on stdin, before all others, are its files
 *   G_WORK_OUT  `entries:bytes:depth` taken out of it at most, ahead of the report; not set: nothing is
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_ENTRIES 200
#define MAX_PATH 400

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#else
#error "the guard knows x86_64 and aarch64"
#endif

extern char **environ;

struct entry {
    char what[MAX_PATH];
    char op[12];
    int err;
    long count;
};
static struct entry writes[MAX_ENTRIES], connects[MAX_ENTRIES];
static int n_writes, n_connects;
static long dropped;
static char *free_prefixes[64];
static int n_free;

static void record(struct entry *table, int *n, const char *what, const char *op, int err) {
    for (int i = 0; i < *n; i++)
        if (!strcmp(table[i].what, what) && !strcmp(table[i].op, op) && table[i].err == err) {
            table[i].count++;
            return;
        }
    if (*n == MAX_ENTRIES) {
        dropped++;
        return;
    }
    struct entry *e = &table[(*n)++];
    snprintf(e->what, sizeof e->what, "%s", what);
    snprintf(e->op, sizeof e->op, "%s", op);
    e->err = err;
    e->count = 1;
}

/* ---- which calls are shown to us ---- */

enum kind { K_OPEN, K_OPENAT, K_OPENAT2, K_PATH, K_AT, K_RENAME, K_RENAMEAT, K_SYMLINK, K_SYMLINKAT, K_CONNECT, K_SENDTO };
struct watched {
    int nr;
    enum kind kind;
    const char *op;
};
static const struct watched watched[] = {
#ifdef __NR_open
    {__NR_open, K_OPEN, "open"},        {__NR_creat, K_PATH, "create"},       {__NR_mkdir, K_PATH, "mkdir"},
    {__NR_rmdir, K_PATH, "delete"},     {__NR_unlink, K_PATH, "delete"},      {__NR_rename, K_RENAME, "rename"},
    {__NR_link, K_RENAME, "link"},      {__NR_symlink, K_SYMLINK, "link"},    {__NR_mknod, K_PATH, "create"},
#endif
    {__NR_openat, K_OPENAT, "open"},    {__NR_openat2, K_OPENAT2, "open"},    {__NR_mkdirat, K_AT, "mkdir"},
    {__NR_unlinkat, K_AT, "delete"},    {__NR_renameat2, K_RENAMEAT, "rename"}, {__NR_linkat, K_RENAMEAT, "link"},
#ifdef __NR_renameat
    {__NR_renameat, K_RENAMEAT, "rename"},
#endif
    {__NR_symlinkat, K_SYMLINKAT, "link"}, {__NR_mknodat, K_AT, "create"},    {__NR_truncate, K_PATH, "truncate"},
    {__NR_connect, K_CONNECT, "connect"}, {__NR_sendto, K_SENDTO, "connect"},
};
#define N_WATCHED ((int)(sizeof watched / sizeof *watched))
/* Calls that change another process of the same user: the argument that names it must not be PID 1. */
static const struct guarded {
    int nr, arg;
} guarded[] = {
    {__NR_prlimit64, 0},          {__NR_sched_setparam, 0}, {__NR_sched_setscheduler, 0},
    {__NR_sched_setaffinity, 0},  {__NR_sched_setattr, 0},  {__NR_setpriority, 1},
};
#define N_GUARDED ((int)(sizeof guarded / sizeof *guarded))
#define X32_BIT 0x40000000u
#define CHANGES (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)

static int install_filter(void) {
    struct sock_filter f[12 + 4 * N_WATCHED + 5 * N_GUARDED];
    int n = 0;
#define DATA(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RET(what) BPF_STMT(BPF_RET | BPF_K, what)
    f[n++] = (struct sock_filter)DATA(arch);
    f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 1, 0);
    f[n++] = (struct sock_filter)RET(SECCOMP_RET_ERRNO | ENOSYS);
    f[n++] = (struct sock_filter)DATA(nr);
    f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 1, 0);
    f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_io_uring_setup, 0, 1);
    f[n++] = (struct sock_filter)RET(SECCOMP_RET_ERRNO | ENOSYS);
    for (int i = 0; i < N_GUARDED; i++) {
        f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)guarded[i].nr, 0, 4);
        f[n++] = (struct sock_filter)DATA(args[guarded[i].arg]); /* its low half: the kernel reads an int */
        f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 1);
        f[n++] = (struct sock_filter)RET(SECCOMP_RET_ERRNO | EPERM);
        f[n++] = (struct sock_filter)RET(SECCOMP_RET_ALLOW);
    }
    for (int i = 0; i < N_WATCHED; i++) {
        enum kind k = watched[i].kind;
        int arg = k == K_OPEN ? 1 : k == K_OPENAT ? 2 : k == K_SENDTO ? 4 : -1;
        unsigned mask = k == K_SENDTO ? 0xffffffffu : CHANGES;
        f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)watched[i].nr, 0, arg < 0 ? 1 : 4);
        if (arg >= 0) {
            f[n++] = (struct sock_filter)DATA(args[arg]);
            f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, mask, 1, 0);
            f[n++] = (struct sock_filter)RET(SECCOMP_RET_ALLOW);
        }
        f[n++] = (struct sock_filter)RET(SECCOMP_RET_USER_NOTIF);
    }
    f[n++] = (struct sock_filter)RET(SECCOMP_RET_ALLOW);
    struct sock_fprog prog = {(unsigned short)n, f};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &prog);
}

/* ---- what a call was about ---- */

/* Through /proc: older default seccomp profiles of engines deny process_vm_readv(2). */
static int peek(pid_t pid, unsigned long address, void *into, size_t size) {
    char name[32];
    snprintf(name, sizeof name, "/proc/%d/mem", pid);
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    ssize_t n = pread(fd, into, size, (off_t)address);
    close(fd);
    return (int)n;
}

static int peek_string(pid_t pid, unsigned long address, char *into, size_t size) {
    size_t got = 0;
    while (got < size - 1) { /* page by page: a string may end just before an unmapped page */
        size_t part = 4096 - ((address + got) & 4095);
        if (part > size - 1 - got) part = size - 1 - got;
        int n = peek(pid, address + got, into + got, part);
        if (n <= 0) break;
        if (memchr(into + got, 0, (size_t)n)) return 0;
        got += (size_t)n;
    }
    into[got] = 0;
    return got ? 0 : -1;
}

/* Lexically absolute: no '.', no '..'; cut at MAX_PATH. */
static void normalise(char *path, char out[MAX_PATH]) {
    size_t len = 0;
    for (char *save = NULL, *part = strtok_r(path, "/", &save); part; part = strtok_r(NULL, "/", &save)) {
        if (!strcmp(part, ".")) continue;
        if (!strcmp(part, "..")) {
            while (len && out[--len] != '/') {}
            continue;
        }
        size_t n = strlen(part);
        if (len + n + 2 > MAX_PATH) break;
        out[len++] = '/';
        memcpy(out + len, part, n);
        len += n;
    }
    if (!len) out[len++] = '/';
    out[len] = 0;
}

static int absolute(pid_t pid, int dirfd, unsigned long address, char *path) {
    char given[4096], base[4096] = "", link[64];
    if (peek_string(pid, address, given, sizeof given) < 0) return -1;
    if (given[0] != '/') {
        if (dirfd == AT_FDCWD) snprintf(link, sizeof link, "/proc/%d/cwd", pid);
        else snprintf(link, sizeof link, "/proc/%d/fd/%d", pid, dirfd);
        ssize_t n = readlink(link, base, sizeof base - 1);
        if (n <= 0 || base[0] != '/') return -1;
        base[n] = 0;
    }
    char whole[8192];
    snprintf(whole, sizeof whole, "%s/%s", base, given);
    normalise(whole, path);
    return 0;
}

static int is_free(const char *path) {
    for (int i = 0; i < n_free; i++) {
        size_t n = strlen(free_prefixes[i]);
        if (!strncmp(path, free_prefixes[i], n) && (!path[n] || path[n] == '/')) return 1;
    }
    return 0;
}

/* What the call will meet: 0 or an errno, by asking for the same access with the same user in the same mounts. */
static int forecast(const char *path, const char *op) {
    struct stat st;
    int exists = lstat(path, &st) == 0;
    if (!strcmp(op, "mkdir") && exists) return -1; /* makedirs(exist_ok) changes nothing */
    if (!strcmp(op, "delete") && !exists) return -1;
    if (exists && strcmp(op, "delete") && strcmp(op, "rename")) {
        if (S_ISCHR(st.st_mode) || S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)) return -1;
        return access(path, W_OK) ? errno : 0;
    }
    char parent[MAX_PATH];
    snprintf(parent, sizeof parent, "%s", path);
    char *slash = strrchr(parent, '/');
    if (slash == parent) parent[1] = 0;
    else if (slash) *slash = 0;
    return access(parent, W_OK | X_OK) ? errno : 0;
}

static void note_path(pid_t pid, int dirfd, unsigned long address, const char *op) {
    char path[MAX_PATH];
    if (absolute(pid, dirfd, address, path) < 0 || is_free(path)) return;
    int err = forecast(path, op);
    if (err >= 0) record(writes, &n_writes, path, op, err);
}

static void note_address(pid_t pid, unsigned long address, unsigned long size) {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } to;
    char text[INET6_ADDRSTRLEN], whole[INET6_ADDRSTRLEN + 16];
    memset(&to, 0, sizeof to);
    if (size > sizeof to) size = sizeof to;
    if (peek(pid, address, &to, size) <= 0) return;
    if (to.any.sa_family == AF_INET) {
        if ((ntohl(to.v4.sin_addr.s_addr) >> 24) == 127) return;
        inet_ntop(AF_INET, &to.v4.sin_addr, text, sizeof text);
        snprintf(whole, sizeof whole, "%s:%d", text, ntohs(to.v4.sin_port));
    } else if (to.any.sa_family == AF_INET6) {
        if (IN6_IS_ADDR_LOOPBACK(&to.v6.sin6_addr)) return;
        inet_ntop(AF_INET6, &to.v6.sin6_addr, text, sizeof text);
        snprintf(whole, sizeof whole, "[%s]:%d", text, ntohs(to.v6.sin6_port));
    } else return;
    record(connects, &n_connects, whole, "connect", 0);
}

static void look_at(const struct seccomp_notif *call) {
    const __u64 *a = call->data.args;
    pid_t pid = (pid_t)call->pid;
    for (int i = 0; i < N_WATCHED; i++) {
        if (watched[i].nr != call->data.nr) continue;
        const char *op = watched[i].op;
        __u64 how = 0;
        switch (watched[i].kind) {
        case K_OPEN:
        case K_PATH: note_path(pid, AT_FDCWD, a[0], op); return;
        case K_OPENAT2:
            if (peek(pid, a[2], &how, sizeof how) <= 0 || !(how & CHANGES)) return;
            /* fall through */
        case K_OPENAT:
        case K_AT: note_path(pid, (int)a[0], a[1], op); return;
        case K_RENAME: note_path(pid, AT_FDCWD, a[1], op); return;
        case K_RENAMEAT: note_path(pid, (int)a[2], a[3], op); return;
        case K_SYMLINK: note_path(pid, AT_FDCWD, a[1], op); return;
        case K_SYMLINKAT: note_path(pid, (int)a[1], a[2], op); return;
        case K_CONNECT: note_address(pid, a[1], a[2]); return;
        case K_SENDTO: note_address(pid, a[4], a[5]); return;
        }
    }
}

static void serve(int listener) {
    static struct seccomp_notif call; /* both structs may grow in later kernels; ours are what the headers say */
    struct seccomp_notif_resp reply;
    memset(&call, 0, sizeof call);
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call)) return;
    look_at(&call);
    memset(&reply, 0, sizeof reply);
    reply.id = call.id;
    reply.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &reply);
}

/* ---- handing the listener from the agent-to-be to PID 1 ---- */

static void send_fd(int channel, int fd) {
    char byte = fd >= 0 ? 'y' : 'n';
    char control[CMSG_SPACE(sizeof fd)] = {0};
    struct iovec io = {&byte, 1};
    struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1};
    if (fd >= 0) {
        m.msg_control = control;
        m.msg_controllen = sizeof control;
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(c), &fd, sizeof fd);
    }
    sendmsg(channel, &m, 0);
}

static int receive_fd(int channel) {
    char byte, control[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec io = {&byte, 1};
    struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    int fd = -1;
    if (recvmsg(channel, &m, MSG_CMSG_CLOEXEC) <= 0) return -1;
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    if (c && c->cmsg_type == SCM_RIGHTS) memcpy(&fd, CMSG_DATA(c), sizeof fd);
    return fd;
}

/* ---- the agent's surroundings ---- */

static void make_dirs(char *list) {
    for (char *save = NULL, *dir = strtok_r(list, ":", &save); dir; dir = strtok_r(NULL, ":", &save)) {
        for (char *p = dir + 1; *p; p++)
            if (*p == '/') {
                *p = 0;
                mkdir(dir, 0700);
                *p = '/';
            }
        mkdir(dir, 0700);
    }
}

static char **kept_environment(const char *keep) {
    int n = 0, total = 0;
    while (environ[total]) total++;
    char **kept = calloc((size_t)total + 1, sizeof *kept);
    for (int i = 0; i < total; i++) {
        size_t len = strcspn(environ[i], "=");
        for (const char *k = keep; k && *k;) {
            size_t klen = strcspn(k, "="); /* which no name can hold */
            if (klen == len && !strncmp(k, environ[i], len)) {
                kept[n++] = environ[i];
                break;
            }
            k += klen + (k[klen] == '=');
        }
    }
    return kept;
}

static long counter(const char *file, const char *key) {
    char line[256];
    long value = -1;
    size_t n = strlen(key);
    FILE *f = fopen(file, "re");
    if (!f) return -1;
    while (fgets(line, sizeof line, f)) {
        if (!n) value = atol(line);
        else if (!strncmp(line, key, n) && line[n] == ' ') value = atol(line + n + 1);
    }
    fclose(f);
    return value;
}

static long either(const char *v2, const char *v1, const char *key) {
    long value = counter(v2, key);
    return value >= 0 ? value : counter(v1, key);
}

static int scratch_full(const char *path) {
    struct statvfs v;
    if (!path || statvfs(path, &v)) return 0;
    return v.f_bfree == 0 || (v.f_files && v.f_ffree == 0);
}

/* ---- the workspace: in before the agent starts, out when nothing but us is alive ---- */

#define MAX_WORK_PATH 1001 /* with its closing 0 */
#define MAX_LEFT_OUT 200   /* listed; the rest is counted */

static int read_all(void *into, size_t size) {
    for (size_t done = 0; done < size;) {
        ssize_t n = read(0, (char *)into + done, size - done);
        if (n == 0 || (n < 0 && errno != EINTR)) return -1;
        if (n > 0) done += (size_t)n;
    }
    return 0;
}

static int write_all(int fd, const void *from, size_t size) {
    for (size_t done = 0; done < size;) {
        ssize_t n = write(fd, (const char *)from + done, size - done);
        if (n <= 0 && errno != EINTR) return -1;
        if (n > 0) done += (size_t)n;
    }
    return 0;
}

static unsigned long long get_number(const unsigned char *at, int width) {
    unsigned long long value = 0;
    while (width--) value = value << 8 | *at++;
    return value;
}

static void put_number(FILE *out, unsigned long long value, int width) {
    while (width--) fputc((int)(value >> (8 * width) & 0xff), out);
}

/* One file from stdin, which is still the harness's alone: [path length 4][mode 1][size 8][path][content]. */
static long long take_in_one(const char *root) {
    unsigned char head[13];
    char path[MAX_PATH + MAX_WORK_PATH], block[65536];
    if (read_all(head, sizeof head)) return -1;
    size_t length = get_number(head, 4);
    unsigned long long size = get_number(head + 5, 8), left = size;
    int n = snprintf(path, sizeof path, "%s/", root);
    if (!length || length >= MAX_WORK_PATH || read_all(path + n, length)) return -1;
    path[(size_t)n + length] = 0;
    for (char *p = path + n; (p = strchr(p, '/')); p++) {
        *p = 0;
        mkdir(path, 0755);
        *p = '/';
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, head[4] ? 0755 : 0644);
    if (fd < 0) return -1;
    for (size_t part; left; left -= part) {
        part = left < sizeof block ? left : sizeof block;
        if (read_all(block, part) || write_all(fd, block, part)) break;
    }
    close(fd);
    return left ? -1 : (long long)(sizeof head + length + size);
}

static int take_in(const char *root, long long size) {
    if (mkdir(root, 0755)) return -1;
    while (size > 0) {
        long long used = take_in_one(root);
        if (used < 0) return -1;
        size -= used;
    }
    return size;
}

static long entries_left, bytes_left, depth_left;
static unsigned long long left_out;
static int whole = 1;

static void put_entry(FILE *out, int kind, int mark, unsigned long long size, const char *path) {
    size_t length = strlen(path);
    fputc(kind, out);
    put_number(out, length, 4);
    fputc(mark, out);
    put_number(out, size, 8);
    fwrite(path, 1, length, out);
}

static void leave_out(FILE *out, int why, long long size, const char *path) {
    if (left_out++ < MAX_LEFT_OUT) put_entry(out, 'X', why, (unsigned long long)size, path);
    if (why == 'r') whole = 0; /* what is in it is not known */
}

/* Ours by owner, so that a mode that shuts us out can be changed. Nobody else is alive who could swap the entry. */
static int open_entry(int dir, const char *name, const struct stat *st, int flags) {
    mode_t need = S_ISDIR(st->st_mode) ? 0500 : 0400;
    if ((st->st_mode & need) != need) fchmodat(dir, name, (st->st_mode & 07777) | need, 0);
    return openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags);
}

static void take_out_file(FILE *out, int dir, const char *name, const struct stat *st, const char *path) {
    char block[65536];
    if (st->st_size > bytes_left) {
        leave_out(out, 'h', st->st_size, path);
        return;
    }
    int fd = open_entry(dir, name, st, 0);
    if (fd < 0) {
        leave_out(out, 'r', st->st_size, path);
        return;
    }
    put_entry(out, 'F', (st->st_mode & 0100) != 0, (unsigned long long)st->st_size, path);
    bytes_left -= st->st_size;
    int fine = 1;
    for (off_t left = st->st_size; left;) { /* so many bytes were announced, so many are sent */
        size_t part = left < (off_t)sizeof block ? (size_t)left : sizeof block;
        ssize_t n = fine ? read(fd, block, part) : (ssize_t)part;
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            fine = 0;
            memset(block, 0, sizeof block);
            continue;
        }
        fwrite(block, 1, (size_t)n, out);
        left -= n;
    }
    close(fd);
    fputc(fine, out);
}

static void take_out_folder(FILE *out, int fd, char *path, size_t length) {
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        if (fd >= 0) close(fd);
        leave_out(out, 'r', 0, path);
        return;
    }
    for (struct dirent *e; (e = readdir(dir));) {
        struct stat st;
        const char *name = e->d_name;
        if (!strcmp(name, ".") || !strcmp(name, "..")) continue;
        if (entries_left-- <= 0) {
            whole = 0;
            break;
        }
        size_t more = strlen(name) + (length > 0);
        if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW)) {
            leave_out(out, 'r', 0, path);
            continue;
        }
        if (length + more >= MAX_WORK_PATH) {
            leave_out(out, 'n', 0, path);
            continue;
        }
        sprintf(path + length, "%s%s", length ? "/" : "", name);
        if (S_ISLNK(st.st_mode)) leave_out(out, 'l', 0, path);
        else if (S_ISREG(st.st_mode)) take_out_file(out, fd, name, &st, path);
        else if (!S_ISDIR(st.st_mode)) leave_out(out, 's', 0, path);
        else if (depth_left <= 1) leave_out(out, 'd', 0, path);
        else {
            depth_left--;
            take_out_folder(out, open_entry(fd, name, &st, O_DIRECTORY), path, length + more);
            depth_left++;
        }
        path[length] = 0;
    }
    closedir(dir);
}

/* The nonce, 'W', entries ('F': [path length 4][executable 1][size 8][path][content][1: read whole], 'X': the same
 * head with a reason for a mode, and the path), then 'E', how many were left out, and whether nothing else is there. */
static int take_out(const char *nonce, const char *root, const char *caps) {
    char path[MAX_WORK_PATH] = "";
    struct stat st;
    if (sscanf(caps, "%ld:%ld:%ld", &entries_left, &bytes_left, &depth_left) != 3) return 0;
    fcntl(2, F_SETFL, fcntl(2, F_GETFL) & ~O_NONBLOCK); /* shared with the agent, which may have set it */
    FILE *out = fdopen(dup(2), "w");
    if (!out) return 0;
    fprintf(out, "%sW", nonce);
    /* Its last name alone is in the agent's hand: the scratch mount above it cannot be moved. */
    if (!lstat(root, &st) && S_ISDIR(st.st_mode))
        take_out_folder(out, open_entry(AT_FDCWD, root, &st, O_DIRECTORY), path, 0);
    fputc('E', out);
    put_number(out, left_out, 8);
    fputc(whole, out);
    fclose(out);
    return 1;
}

/* ---- the report ---- */

static int put_in = 1, not_executed;

static void put_table(FILE *out, const char *name, struct entry *table, int n) {
    fprintf(out, ",\"%s\":[", name);
    for (int i = 0; i < n; i++) {
        fprintf(out, "%s[\"", i ? "," : "");
        for (const unsigned char *p = (const unsigned char *)table[i].what; *p; p++) fprintf(out, "%02x", *p);
        fprintf(out, "\",\"%s\",%d,%ld]", table[i].op, table[i].err, table[i].count);
    }
    fputc(']', out);
}

static void report(const char *nonce, int status, int full, int seen, int stopped) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) return;
    fprintf(out, "%s{\"code\":%d,\"signal\":%d,\"oom\":%ld,\"pids\":%ld,\"full\":%d,\"peak\":%ld,\"seen\":%d,\"stopped\":%d,\"dropped\":%ld,\"in\":%d,\"exec\":%d",
            nonce, WIFEXITED(status) ? WEXITSTATUS(status) : 0, WIFSIGNALED(status) ? WTERMSIG(status) : 0,
            either("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control", "oom_kill"),
            either("/sys/fs/cgroup/pids.events", "/sys/fs/cgroup/pids/pids.events", "max"), full,
            either("/sys/fs/cgroup/memory.peak", "/sys/fs/cgroup/memory/memory.max_usage_in_bytes", ""), seen, stopped, dropped, put_in, not_executed);
    put_table(out, "writes", writes, n_writes);
    put_table(out, "connects", connects, n_connects);
    fputs("}\n", out);
    fclose(out);
    fcntl(2, F_SETFL, fcntl(2, F_GETFL) & ~O_NONBLOCK); /* shared with the agent, which may have set it */
    write_all(2, text, size);
}

static int kill_all_and_reap(pid_t agent, int status, int ended) {
    kill(-1, SIGKILL);
    for (;;) {
        int s;
        pid_t pid = waitpid(-1, &s, 0);
        if (pid < 0 && errno == ECHILD) return status;
        if (pid == agent && !ended) status = s;
    }
}

/* Engines look numbers up as names in the image's own files, and could so make another user or group of them. */
static int is_user(const char *wanted) {
    char is[32];
    gid_t groups[1];
    snprintf(is, sizeof is, "%u:%u", getuid(), getgid());
    int n = getgroups(1, groups);
    return getuid() && !strcmp(is, wanted) && geteuid() == getuid() && getegid() == getgid() &&
           (!n || (n == 1 && groups[0] == getgid()));
}

static char *take(const char *name) {
    const char *value = getenv(name);
    return strdup(value ? value : "");
}

int main(int argc, char **argv) {
    if (argc < 2) return 64;
    if (getpid() != 1) { /* kill(-1) below would take everything this user runs */
        fputs("this program is PID 1 of a container and nothing else\n", stderr);
        return 64;
    }
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    char *nonce = take("G_NONCE"), *keep = take("G_KEEP"), *dirs = take("G_DIRS"), *prefixes = take("G_FREE");
    char *scratch = take("G_SCRATCH"), *grace = take("G_GRACE_MS"), *user = take("G_USER"), *cwd = take("G_CWD");
    char *work = take("G_WORK"), *work_in = take("G_WORK_IN"), *work_out = take("G_WORK_OUT");
    if (!is_user(user)) {
        fprintf(stderr, "the image's /etc/passwd or /etc/group make another user or group of %s\n", user);
        report(nonce, 126 << 8, 0, 1, 0);
        return 126;
    }
    make_dirs(dirs);
    if (*work && take_in(work, atoll(work_in))) {
        fprintf(stderr, "the workspace cannot be put in: %s\n", strerror(errno));
        put_in = 0;
        report(nonce, 71 << 8, 0, 1, 0);
        return 71;
    }
    for (char *save = NULL, *p = strtok_r(prefixes, ":", &save); p && n_free < 64; p = strtok_r(NULL, ":", &save))
        free_prefixes[n_free++] = p;

    sigset_t mask, before;
    sigemptyset(&mask);
    sigaddset(&mask, SIGCHLD);
    sigaddset(&mask, SIGTERM);
    sigaddset(&mask, SIGINT);
    sigprocmask(SIG_BLOCK, &mask, &before);
    int signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) return 71;
    char **env = kept_environment(keep);

    pid_t agent = fork();
    if (agent < 0) return 71;
    if (agent == 0) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        setsid();
        send_fd(pair[1], install_filter());
        environ = env;
        if (!*cwd || !chdir(cwd)) execvpe(argv[1], argv + 1, env);
        int err = errno;
        send(pair[1], &err, sizeof err, MSG_NOSIGNAL); /* closed by a successful exec: no agent can say this */
        dprintf(2, "exec %s: %s\n", argv[1], strerror(err));
        _exit(err == ENOENT ? 127 : 126);
    }
    close(pair[1]);
    int listener = receive_fd(pair[0]);
    int seen = listener >= 0, status = 0, ended = 0, told = 0, stopped = 0;
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing >= 0) {
        dup2(nothing, 0);
        dup2(nothing, 1);
    }

    struct pollfd polls[] = {{signals, POLLIN, 0}, {timer, POLLIN, 0}, {listener, POLLIN, 0}};
    while (!ended) {
        if (poll(polls, 3, -1) < 0 && errno != EINTR) break;
        if (polls[2].revents & POLLIN) serve(listener);
        else if (polls[2].revents) polls[2].fd = -1; /* nobody is left under the filter */
        struct signalfd_siginfo info;
        while (read(signals, &info, sizeof info) == (ssize_t)sizeof info)
            if (info.ssi_signo != SIGCHLD && !told) { /* once: the agent can send it too, and would put off its end */
                told = 1;
                stopped = info.ssi_code == SI_USER && info.ssi_pid == 0; /* from outside our PID name space */
                long ms = atol(grace);
                struct itimerspec when = {{0, 0}, {ms / 1000, (ms % 1000) * 1000000L + 1}};
                kill(agent, SIGTERM);
                timerfd_settime(timer, 0, &when, NULL);
            }
        int s;
        for (pid_t pid; (pid = waitpid(-1, &s, WNOHANG)) > 0;)
            if (pid == agent) {
                status = s;
                ended = 1;
            }
        if (polls[1].revents & POLLIN) break;
    }
    int full = scratch_full(scratch);
    if (listener >= 0) close(listener); /* calls still waiting on us fail instead of blocking */
    status = kill_all_and_reap(agent, status, ended);
    if (recv(pair[0], &not_executed, sizeof not_executed, MSG_DONTWAIT) != (ssize_t)sizeof not_executed) not_executed = 0;
    int sent = *work_out && take_out(nonce, work, work_out);
    report(sent ? "" : nonce, status, full, seen, stopped);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
