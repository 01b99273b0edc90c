# What the lab's parts share: settings, how to say, wait and enter the node.
# Sourced by each part, which ends with `part "$@"`.
# shellcheck shell=bash

set -euo pipefail
LAB=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck disable=SC2034 # Parts read it.
CHECKOUT=$(cd "$LAB/../.." && pwd)
# shellcheck source=versions.env
. "$LAB/versions.env"
# shellcheck source=settings.env
. "$LAB/settings.env"

say() { printf '%s\n' "$*" >&2; }

die() {
	say "lab: $*"
	exit 1
}

# lab_stack prints the stack of the lab that is on this machine, if there is one. One
# without a file is from a checkout that knew reef alone.
lab_stack() {
	[ -d "$STATE/disks" ] || return
	cat "$STATE/stack" 2>/dev/null || echo reef
}

stacks() { (cd "$LAB/stacks" && printf '%s ' *.env | sed 's/\.env//g'); }

# The stack is what STACK says, or that of the lab that is there, or the default.
STACK=${STACK:-$(lab_stack || echo "$DEFAULT_STACK")}
export STACK # to the parts
[ -e "$LAB/stacks/$STACK.env" ] || die "no stack is called $STACK; they are: $(stacks)"
# shellcheck source=stacks/reef.env
. "$LAB/stacks/$STACK.env"
# shellcheck source=images.env
. "$LAB/images.env"

# wait_for SECONDS WHAT COMMAND… polls once a second until COMMAND succeeds.
wait_for() {
	local limit=$1 what=$2 started=$SECONDS
	shift 2
	until "$@" >/dev/null 2>&1; do
		((SECONDS - started < limit)) || die "waited $limit s in vain: $what"
		sleep 1
	done
	say "$what: after $((SECONDS - started)) s"
}

# part VERB runs one verb of the part that sources this file. A part defines
# is_up and up, and down and status where there is something to undo or to say.
part() {
	case ${1:-} in
	up) if is_up; then say "there already"; else up; fi ;;
	down) if declare -F down >/dev/null; then down; fi ;;
	status) if declare -F status >/dev/null; then status; elif is_up; then echo up; else echo down; fi ;;
	*) die "usage: ${0##*/} up|down|status" ;;
	esac
}

# need_node fails where there is no Node.js for what is built and run with it.
need_node() {
	if ! command -v npm >/dev/null || ! node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)'; then
		die "Node.js 20 or newer is missing, or npm: on Debian the packages nodejs and npm"
	fi
}

# cache_entry NAME INPUT… prints the cache folder for what is made from the
# files and strings given, whatever their order of time.
cache_entry() {
	local name=$1 input
	shift
	for input in "$@"; do
		if [ -f "$input" ]; then cat "$input"; else echo "$input"; fi
	done | sha256sum | { read -r sum _; echo "$CACHE/$name-${sum:0:12}"; }
}

# The node is a set of namespaces whose first process is in node.pid. A pid alone
# may be somebody else's by now, so its network namespace must be the lab's.
node_pid() {
	local pid ours
	pid=$(cat "$STATE/node.pid" 2>/dev/null) || return 1
	# After a reboot neither is there, which must not pass for the same.
	ours=$(stat -Lc %i "/run/netns/$NETNS" 2>/dev/null) || return 1
	[ "$(stat -Lc %i "/proc/$pid/ns/net" 2>/dev/null)" = "$ours" ] || return 1
	echo "$pid"
}

# node_run COMMAND… runs a command on the node.
node_run() {
	nsenter --target "$(node_pid)" --mount --uts --ipc --net --pid --root --wd=/ -- \
		env PATH=/opt/kubernetes:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

kubernetes_dir() { "$LAB/build/kubernetes/build" --dir; }

# kubectl of the lab's own version, always with an explicit kubeconfig: never
# the one of whoever runs this.
kubectl() { "$(kubernetes_dir)/kubectl" --kubeconfig "$LAB_KUBECONFIG" "$@"; }

rook_dir() { "$LAB/build/rook/build" "$(rook_minor)" --dir; }

# rook_minor is such as 1.18, and a folder in build/rook.
rook_minor() {
	local version=${ROOK_VERSION#v}
	echo "${version%.*}"
}

# Where the cache holds what several parts use.
node_rootfs_dir() { cache_entry node-rootfs "$LAB/parts/node-rootfs" "$LAB/rootfs.sh" "$DEBIAN_SUITE"; }

ceph_rootfs_dir() { cache_entry "ceph-$CEPH_VERSION" "$LAB/parts/ceph-rootfs" "$LAB/rootfs.sh" "$CEPH_SUITE" "$CEPH_VERSION"; }

ceph_version_file() { echo "$(ceph_rootfs_dir)/version"; }

# ceph_built says which Ceph the cache has, and which the stack pins if that is another.
ceph_built() {
	local version
	version=$(cat "$(ceph_version_file)")
	echo "Ceph $version of Debian $CEPH_SUITE$([ "$version" = "$CEPH_VERSION" ] || echo ", where stacks/$STACK.env pins $CEPH_VERSION")"
}

images_archive() {
	echo "$(cache_entry images "$LAB/parts/images" "$LAB/image.sh" "$LAB/pause/main.go" "$(ceph_rootfs_dir)" "$(ceph_version_file)" "$(rook_dir)" "$CEPH_IMAGE" "$ROOK_IMAGE" "$PAUSE_IMAGE").tar"
}

# make_once ENTRY COMMAND… has COMMAND fill a folder, which gets the entry's name when it
# is whole. Several commands may want the same entry: one makes it, the others wait.
make_once() {
	local entry=$1
	shift
	mkdir -p "$CACHE"
	exec 8>"$entry.lock"
	flock 8
	if [ ! -e "$entry" ]; then
		rm -rf --one-file-system "$entry.partial"
		mkdir "$entry.partial"
		"$@" "$entry.partial"
		mv "$entry.partial" "$entry"
	fi
	exec 8>&-
}

# render replaces @NAME@ by the setting of that name, and fails on an unknown one.
render() {
	local text name
	text=$(cat "$1")
	while [[ $text =~ @([A-Z][A-Z_]*)@ ]]; do
		name=${BASH_REMATCH[1]}
		text=${text//"@$name@"/${!name:?asked for by $1}}
	done
	printf '%s\n' "$text"
}

# disk_files prints the files behind the disks of the OSDs, and volume_names what
# the local volumes are called: file0, file1, …, block0, ….
disk_files() {
	local i
	for ((i = 0; i < OSD_COUNT; i++)); do echo "$STATE/disks/osd$i.img"; done
}

volume_names() {
	local i
	for ((i = 0; i < FILE_VOLUMES; i++)); do echo "file$i"; done
	for ((i = 0; i < BLOCK_VOLUMES; i++)); do echo "block$i"; done
}

volume_file() { echo "$STATE/volumes/$1.img"; }

# loop_device FILE prints the loop device of a file, if that uses direct I/O.
loop_device() {
	losetup --list --noheadings --output NAME,DIO,BACK-FILE | awk -v "file=$1" '$2 == 1 && $3 == file {print $1}'
}

# lab_disks prints the loop devices of the OSDs.
lab_disks() {
	local file
	disk_files | while read -r file; do loop_device "$file"; done
}
