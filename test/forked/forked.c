/*
 * Starts of the program under test for which one Node is started: it has read the program already, and forks for each.
 * As a library it is loaded into that Node (server.ts); as a program it asks it for one start, with its own arguments,
 * environment, folder, umask and first three descriptors, and ends as the fork did:
 *
 *     forked SOCKET ARGUMENT…
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define DESCRIPTORS 3
#define MOST_STARTS 64

/* Behind it come so many bytes of strings, each with its zero: the folder, the arguments, the environment. */
struct start {
  uint32_t bytes;
  uint32_t umask;
  uint32_t arguments;
  uint32_t variables;
};

static int unix_socket(const char *path, int (*use)(int, const struct sockaddr *, socklen_t)) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  return fd >= 0 && use(fd, (struct sockaddr *)&address, sizeof address) == 0 ? fd : -1;
}

static int read_all(int fd, char *to, size_t bytes) {
  while (bytes > 0) {
    ssize_t got = read(fd, to, bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return -1;
    to += got;
    bytes -= got;
  }
  return 0;
}

static int write_all(int fd, const char *from, size_t bytes) {
  while (bytes > 0) {
    ssize_t put = write(fd, from, bytes);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return -1;
    from += put;
    bytes -= put;
  }
  return 0;
}

#ifdef SERVER

/* V8 asks that its memory stays behind when a process forks. */
int madvise(void *address, size_t bytes, int advice) {
  return advice == MADV_DONTFORK ? 0 : (int)syscall(SYS_madvise, address, bytes, advice);
}

static int take_start(int client, struct start *start, int fds[DESCRIPTORS]) {
  char room[CMSG_SPACE(DESCRIPTORS * sizeof(int))];
  struct iovec part = {start, sizeof *start};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
  if (recvmsg(client, &message, MSG_WAITALL) != sizeof *start) return -1;
  struct cmsghdr *head = CMSG_FIRSTHDR(&message);
  if (head == NULL || head->cmsg_len != CMSG_LEN(DESCRIPTORS * sizeof(int))) return -1;
  memcpy(fds, CMSG_DATA(head), DESCRIPTORS * sizeof(int));
  return 0;
}

/* What the fork has to become; its strings stay where they are, the environment lives in them. */
static void become(const struct start *start, char *strings, const int fds[DESCRIPTORS]) {
  for (int i = 0; i < DESCRIPTORS; i++) {
    dup2(fds[i], i);
    if (fds[i] >= DESCRIPTORS) close(fds[i]);
  }
  setpgid(0, 0);
  umask(start->umask);
  char *at = strings;
  for (uint32_t i = 0; i <= start->arguments; i++) at += strlen(at) + 1;
  clearenv();
  for (uint32_t i = 0; i < start->variables; i++, at += strlen(at) + 1) putenv(at);
}

/* Forks for every start that is asked for, and returns in the forks: how many arguments follow the folder in *strings. */
int forked_serve(const char *path, char **strings) {
  struct child {
    pid_t pid;
    int client;
  } children[MOST_STARTS];
  struct pollfd wait[1 + 2 * MOST_STARTS];
  int count = 0;
  int listening = unix_socket(path, bind);
  if (listening < 0 || listen(listening, MOST_STARTS) < 0) return -1;
  for (;;) {
    wait[0] = (struct pollfd){.fd = count < MOST_STARTS ? listening : -1, .events = POLLIN};
    for (int i = 0; i < count; i++) wait[1 + 2 * i].revents = wait[2 + 2 * i].revents = 0;
    if (poll(wait, 1 + 2 * count, -1) < 0) continue;
    for (int i = count - 1; i >= 0; i--) {
      /* who asked is gone: nobody waits for it any more */
      if (wait[2 + 2 * i].revents) kill(-children[i].pid, SIGKILL);
      if (!(wait[1 + 2 * i].revents | wait[2 + 2 * i].revents)) continue;
      int status = 0;
      waitpid(children[i].pid, &status, 0);
      if (!wait[2 + 2 * i].revents) write_all(children[i].client, (char *)&status, sizeof status);
      close(children[i].client);
      close(wait[1 + 2 * i].fd);
      children[i] = children[--count];
      memcpy(&wait[1 + 2 * i], &wait[1 + 2 * count], 2 * sizeof wait[0]);
    }
    if (!(wait[0].revents & POLLIN)) continue;
    int client = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
    struct start start;
    int fds[DESCRIPTORS];
    if (client < 0) continue;
    if (take_start(client, &start, fds) < 0) {
      close(client);
      continue;
    }
    char *given = malloc(start.bytes);
    pid_t pid = read_all(client, given, start.bytes) < 0 ? -1 : fork();
    if (pid == 0) {
      close(listening);
      close(client);
      for (int i = 0; i < count; i++) {
        close(children[i].client);
        close(wait[1 + 2 * i].fd);
      }
      become(&start, given, fds);
      *strings = given;
      return (int)start.arguments;
    }
    free(given);
    for (int i = 0; i < DESCRIPTORS; i++) close(fds[i]);
    if (pid < 0) {
      close(client);
      continue;
    }
    setpgid(pid, pid);
    children[count] = (struct child){pid, client};
    wait[1 + 2 * count] = (struct pollfd){.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
    wait[2 + 2 * count] = (struct pollfd){.fd = client, .events = POLLRDHUP};
    count++;
  }
}

#else

static void append(char **strings, uint32_t *bytes, const char *text) {
  size_t more = strlen(text) + 1;
  *strings = realloc(*strings, *bytes + more);
  memcpy(*strings + *bytes, text, more);
  *bytes += more;
}

int main(int argc, char **argv, char **variables) {
  int server = argc > 2 ? unix_socket(argv[1], connect) : -1;
  char *strings = NULL;
  char *folder = getcwd(NULL, 0);
  if (server < 0 || folder == NULL) {
    fprintf(stderr, "forked: nobody forks at %s\n", argc > 1 ? argv[1] : "SOCKET");
    return 125;
  }
  struct start start = {.umask = umask(0), .arguments = argc - 2};
  append(&strings, &start.bytes, folder);
  for (int i = 2; i < argc; i++) append(&strings, &start.bytes, argv[i]);
  for (; variables[start.variables] != NULL; start.variables++)
    append(&strings, &start.bytes, variables[start.variables]);

  char room[CMSG_SPACE(DESCRIPTORS * sizeof(int))] = {0};
  struct iovec part = {&start, sizeof start};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
  struct cmsghdr *head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(DESCRIPTORS * sizeof(int));
  memcpy(CMSG_DATA(head), (int[]){0, 1, 2}, DESCRIPTORS * sizeof(int));
  int status;
  if (sendmsg(server, &message, 0) != sizeof start || write_all(server, strings, start.bytes) < 0 ||
      read_all(server, (char *)&status, sizeof status) < 0) {
    fprintf(stderr, "forked: there was no answer from %s\n", argv[1]);
    return 125;
  }
  if (WIFSIGNALED(status)) {
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
  }
  return WEXITSTATUS(status);
}

#endif
