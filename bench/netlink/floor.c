/*
 * The floor of the benchmark: the same messages as our attach, detach and list, in the same order, with nothing around them.
 * It knows the sizes of its own buffers and the few replies that it asks for; it is no library and not meant to become one.
 *
 *   floor attach  BRIDGE FIRST COUNT GROUP   one line of nanoseconds a pod
 *   floor detach  FIRST COUNT                one line of nanoseconds a pod
 *   floor attach-all BRIDGE FIRST COUNT GROUP, floor detach-all GROUP    one line of nanoseconds for all
 *   floor list ROUNDS                        one line of nanoseconds a round
 *
 * Pod N is the namespace /run/netns/pod-N and gets the veth pair bench-N / net1.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* The kernel takes the peer's index only if the link's own is given too. */
enum { HOME_INDEX = 100000, POD_INDEX = 100, BATCH = 64, MESSAGE_MAX = 512 };

static char out[BATCH * MESSAGE_MAX];
static char in[1 << 20];
static size_t used;
static int waiting;
static int home_ns;

static void die(const char *what) {
  perror(what);
  exit(1);
}

static long long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void report(long long since) { printf("%lld\n", now() - since); }

static struct nlmsghdr *begin(int type, int flags, const void *body, size_t size) {
  struct nlmsghdr *m = (struct nlmsghdr *)(out + used);
  memset(m, 0, NLMSG_SPACE(size));
  m->nlmsg_type = type;
  m->nlmsg_flags = NLM_F_REQUEST | flags;
  m->nlmsg_seq = ++waiting;
  m->nlmsg_len = NLMSG_SPACE(size);
  memcpy(NLMSG_DATA(m), body, size);
  return m;
}

static struct rtattr *put(struct nlmsghdr *m, int type, const void *value, size_t size) {
  struct rtattr *a = (struct rtattr *)((char *)m + m->nlmsg_len);
  a->rta_type = type;
  a->rta_len = RTA_LENGTH(size);
  if (size) memcpy(RTA_DATA(a), value, size);
  m->nlmsg_len += RTA_SPACE(size);
  return a;
}

static void close_nest(struct nlmsghdr *m, struct rtattr *nest) { nest->rta_len = (char *)m + m->nlmsg_len - (char *)nest; }
static void end(struct nlmsghdr *m) { used += m->nlmsg_len; }

static int open_socket(void) {
  int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), on = 1, size = 1 << 20;
  if (fd < 0) die("socket");
  setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof on);
  setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof on);
  setsockopt(fd, SOL_NETLINK, NETLINK_GET_STRICT_CHK, &on, sizeof on);
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
  return fd;
}

static void transmit(int fd) {
  struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
  struct iovec part = {out, used};
  struct msghdr message = {&kernel, sizeof kernel, &part, 1, 0, 0, 0};
  if (sendmsg(fd, &message, 0) < 0) die("sendmsg");
  used = 0;
}

static ssize_t receive(int fd) {
  struct sockaddr_nl from;
  struct iovec part = {in, sizeof in};
  struct msghdr message = {&from, sizeof from, &part, 1, 0, 0, 0};
  ssize_t n = recvmsg(fd, &message, 0);
  if (n < 0) die("recvmsg");
  return n;
}

/* Sends what was collected and waits for the acknowledgement of each message. */
static void flush(int fd) {
  transmit(fd);
  while (waiting > 0) {
    int left = receive(fd);
    for (struct nlmsghdr *m = (struct nlmsghdr *)in; NLMSG_OK(m, left); m = NLMSG_NEXT(m, left)) {
      if (m->nlmsg_type != NLMSG_ERROR) continue;
      struct nlmsgerr *e = NLMSG_DATA(m);
      if (e->error) {
        errno = -e->error;
        die("kernel");
      }
      waiting--;
    }
  }
}

static void add_veth(int bridge, int pod, int pod_ns, int group) {
  char name[IFNAMSIZ];
  int length = snprintf(name, sizeof name, "bench-%d", pod) + 1;
  unsigned queues = 1;
  struct ifinfomsg home = {.ifi_index = HOME_INDEX + pod, .ifi_flags = IFF_UP, .ifi_change = IFF_UP}, peer = {.ifi_index = POD_INDEX};
  struct nlmsghdr *m = begin(RTM_NEWLINK, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, &home, sizeof home);
  put(m, IFLA_IFNAME, name, length);
  put(m, IFLA_MASTER, &bridge, 4);
  put(m, IFLA_GROUP, &group, 4);
  put(m, IFLA_NUM_TX_QUEUES, &queues, 4);
  put(m, IFLA_NUM_RX_QUEUES, &queues, 4);
  struct rtattr *info = put(m, IFLA_LINKINFO, 0, 0);
  put(m, IFLA_INFO_KIND, "veth", 5);
  struct rtattr *data = put(m, IFLA_INFO_DATA, 0, 0);
  struct rtattr *other = put(m, VETH_INFO_PEER, &peer, sizeof peer);
  put(m, IFLA_IFNAME, "net1", 5);
  put(m, IFLA_NUM_TX_QUEUES, &queues, 4);
  put(m, IFLA_NUM_RX_QUEUES, &queues, 4);
  put(m, IFLA_NET_NS_FD, &pod_ns, 4);
  close_nest(m, other);
  close_nest(m, data);
  close_nest(m, info);
  end(m);
}

static void configure_pod(int pod) {
  unsigned address = htonl(0x0a000000u + pod + 2);
  struct ifaddrmsg a = {.ifa_family = AF_INET, .ifa_prefixlen = 16, .ifa_index = POD_INDEX};
  struct nlmsghdr *m = begin(RTM_NEWADDR, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, &a, sizeof a);
  put(m, IFA_ADDRESS, &address, 4);
  put(m, IFA_LOCAL, &address, 4);
  end(m);
  struct ifinfomsg up = {.ifi_index = POD_INDEX, .ifi_flags = IFF_UP, .ifi_change = IFF_UP};
  end(begin(RTM_NEWLINK, NLM_F_ACK, &up, sizeof up));
}

static int open_pod(int pod) {
  char path[64];
  snprintf(path, sizeof path, "/run/netns/pod-%d", pod);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) die(path);
  return fd;
}

static void settle_pod(int pod, int ns) {
  if (setns(ns, CLONE_NEWNET)) die("setns");
  int fd = open_socket();
  if (setns(home_ns, CLONE_NEWNET)) die("setns");
  configure_pod(pod);
  flush(fd);
  close(fd);
}

static void attach(int home, int bridge, int first, int count, int group) {
  for (int pod = first; pod < first + count; pod++) {
    long long start = now();
    int ns = open_pod(pod);
    add_veth(bridge, pod, ns, group);
    flush(home);
    settle_pod(pod, ns);
    close(ns);
    report(start);
  }
}

static void attach_all(int home, int bridge, int first, int count, int group) {
  long long start = now();
  int *ns = calloc(count, sizeof *ns);
  for (int i = 0; i < count; i++) {
    ns[i] = open_pod(first + i);
    add_veth(bridge, first + i, ns[i], group);
    if (i % BATCH == BATCH - 1 || i == count - 1) flush(home);
  }
  for (int i = 0; i < count; i++) {
    settle_pod(first + i, ns[i]);
    close(ns[i]);
  }
  report(start);
}

static void detach(int home, int first, int count) {
  for (int pod = first; pod < first + count; pod++) {
    long long start = now();
    char name[IFNAMSIZ];
    int length = snprintf(name, sizeof name, "bench-%d", pod) + 1;
    struct ifinfomsg link = {0};
    struct nlmsghdr *m = begin(RTM_DELLINK, NLM_F_ACK, &link, sizeof link);
    put(m, IFLA_IFNAME, name, length);
    end(m);
    flush(home);
    report(start);
  }
}

static void detach_all(int home, int group) {
  long long start = now();
  struct ifinfomsg link = {0};
  struct nlmsghdr *m = begin(RTM_DELLINK, NLM_F_ACK, &link, sizeof link);
  put(m, IFLA_GROUP, &group, 4);
  end(m);
  flush(home);
  report(start);
}

/* Reads every attribute into a table, as iproute2 does, down to the kind's own. */
static int index_attributes(struct rtattr *a, int left, struct rtattr **seen, int max) {
  int count = 0;
  memset(seen, 0, sizeof *seen * (max + 1));
  for (; RTA_OK(a, left); a = RTA_NEXT(a, left), count++)
    if ((a->rta_type & NLA_TYPE_MASK) <= max) seen[a->rta_type & NLA_TYPE_MASK] = a;
  return count;
}

static void list(int home, int rounds) {
  for (int round = 0; round < rounds; round++) {
    long long start = now();
    struct ifinfomsg any = {0};
    unsigned mask = RTEXT_FILTER_SKIP_STATS;
    int links = 0, attributes = 0, done = 0;
    struct nlmsghdr *m = begin(RTM_GETLINK, NLM_F_DUMP, &any, sizeof any);
    put(m, IFLA_EXT_MASK, &mask, 4);
    end(m);
    transmit(home);
    while (!done) {
      int left = receive(home);
      for (m = (struct nlmsghdr *)in; NLMSG_OK(m, left); m = NLMSG_NEXT(m, left)) {
        if (m->nlmsg_type == NLMSG_DONE) {
          done = 1;
          break;
        }
        struct rtattr *seen[IFLA_MAX + 1], *inner[IFLA_INFO_MAX + 1];
        attributes += index_attributes(IFLA_RTA(NLMSG_DATA(m)), IFLA_PAYLOAD(m), seen, IFLA_MAX);
        struct rtattr *info = seen[IFLA_LINKINFO];
        if (info) attributes += index_attributes(RTA_DATA(info), RTA_PAYLOAD(info), inner, IFLA_INFO_MAX);
        links++;
      }
    }
    waiting = 0;
    report(start);
    fprintf(stderr, "%d links, %d attributes\n", links, attributes);
  }
}

int main(int argc, char **argv) {
  home_ns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
  int fd = open_socket();
  const char *what = argc > 1 ? argv[1] : "";
  int numbers[3] = {0};
  int has_bridge = !strncmp(what, "attach", 6);
  int bridge = has_bridge && argc > 2 ? (int)if_nametoindex(argv[2]) : 0;
  for (int i = 0; i < 3 && i + 2 + has_bridge < argc; i++) numbers[i] = atoi(argv[i + 2 + has_bridge]);
  if (!strcmp(what, "attach")) attach(fd, bridge, numbers[0], numbers[1], numbers[2]);
  else if (!strcmp(what, "attach-all")) attach_all(fd, bridge, numbers[0], numbers[1], numbers[2]);
  else if (!strcmp(what, "detach")) detach(fd, numbers[0], numbers[1]);
  else if (!strcmp(what, "detach-all")) detach_all(fd, numbers[0]);
  else if (!strcmp(what, "list")) list(fd, numbers[0]);
  else return 2;
  return 0;
}
