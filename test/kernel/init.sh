#!/bin/sh
# First process of the test machine. The root is this host's, read-only; what must be written lives in memory and ends with the machine.
# The kernel hands over its command line: PODLOOM_* as environment, what follows "--" as arguments for vitest.
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm /dev/net
mknod /dev/net/tun c 10 200 # opening it loads the module
mount -t devpts pts /dev/pts
# Before /tmp is covered: the sources as they were when the run began.
for part in packages test; do mount --bind "$PODLOOM_SNAPSHOT/$part" "$PODLOOM_ROOT/$part"; done
# The checkout itself may lie below one of these folders: held aside, and put back.
mount --rbind "$PODLOOM_ROOT" /mnt
for folder in /dev/shm /tmp /run /var/tmp; do mount -t tmpfs tmpfs "$folder"; done
mkdir -p "$PODLOOM_ROOT"
mount --rbind /mnt "$PODLOOM_ROOT"
mount -t cgroup2 cgroup2 /sys/fs/cgroup

ports() { for port in /sys/class/virtio-ports/*; do [ "$(cat "$port/name")" = "$1" ] && echo "/dev/${port##*/}"; done; }
exec > "$(ports output)" 2>&1

echo "$PODLOOM_MODPROBE" > /proc/sys/kernel/modprobe
# Once a tunnel module is there, every new namespace would begin with gre0, sit0 and so on; tests expect an empty one.
echo 1 > /proc/sys/net/core/fb_tunnels_only_for_init_net
ip link set lo up

export PODLOOM_KERNEL_TIER=1 HOME=/tmp PATH="${PODLOOM_NODE%/*}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
cd "$PODLOOM_ROOT" || exit
"$PODLOOM_NODE" node_modules/vitest/vitest.mjs run --config test/kernel/vitest.config.ts --configLoader native "$@"
cat /tmp/result.json > "$(ports result)"
echo o > /proc/sysrq-trigger
sleep 60
