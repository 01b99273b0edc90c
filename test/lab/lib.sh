# Settings and functions that the lab's parts share: printing, waiting, entering the node. Each part
# sources this file, and calls `part "$@"` at its end.
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

# lab_stack prints the stack of the lab on this machine, if a lab exists. A lab without the file "stack"
# comes from an old version of this repository, which had only the stack reef.
lab_stack() {
	[ -d "$STATE/disks" ] || return
	cat "$STATE/stack" 2>/dev/null || echo reef
}

stacks() { (cd "$LAB/stacks" && printf '%s ' *.env | sed 's/\.env//g'); }

# STACK comes from the environment. If it is not set, it is the stack of the existing lab, or else the
# default.
STACK=${STACK:-$(lab_stack || echo "$DEFAULT_STACK")}
export STACK # to the parts
[ -e "$LAB/stacks/$STACK.env" ] || die "no stack is called $STACK; they are: $(stacks)"
# shellcheck source=stacks/reef.env
. "$LAB/stacks/$STACK.env"
# shellcheck source=images.env
. "$LAB/images.env"

# NODES is the number of nodes: 1, or several with a control plane of their own. It comes from the environment. If it is not
# set, it is that of the existing lab, or else 1.
NODES=${NODES:-$(cat "$STATE/nodes" 2>/dev/null || echo 1)}
export NODES
[[ $NODES =~ ^[1-9]$ ]] || die "NODES is $NODES, want 1 to 9"

# nodes prints the names of the nodes, and machines also that of the control plane, which comes first. One node runs the
# control plane itself. With several nodes, the control plane has a machine of its own, so that every node can fail.
nodes() {
	local i
	if [ "$NODES" = 1 ]; then
		echo lab
		return
	fi
	for ((i = 1; i <= NODES; i++)); do echo "node$i"; done
}
machines() {
	[ "$NODES" = 1 ] || echo control
	nodes
}
# sed reads to the end. head would leave the writer to a broken pipe, which is a failure in this shell.
first_node() { nodes | sed -n 1p; }
number() { case $1 in node*) echo "${1#node}" ;; *) echo 0 ;; esac; }
address() { case $1 in lab | control) echo "$CONTROL_ADDRESS" ;; *) echo "$NETWORK.$((10 + $(number "$1")))" ;; esac; }
netns() { echo "cephtune-$1"; }
machine_root() { echo "$STATE/machines/$1"; }

# With several nodes, each has one OSD, and there are no local volumes.
if [ "$NODES" != 1 ]; then OSD_COUNT=$NODES FILE_VOLUMES=0 BLOCK_VOLUMES=0; fi
# shellcheck disable=SC2034 # Parts and test suites read them.
NETNS=$(netns "$(machines | sed -n 1p)") NODE_NAME=$(first_node)
# shellcheck disable=SC2034
FAILURE_DOMAIN=$([ "$NODES" = 1 ] && echo osd || echo host)

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

# part VERB runs the verb up, down or status of the part that sources this file. A part defines the
# functions is_up and up. It also defines down if it has something to undo, and may define status.
part() {
	case ${1:-} in
	up) if is_up; then say "there already"; else up; fi ;;
	down) if declare -F down >/dev/null; then down; fi ;;
	status) if declare -F status >/dev/null; then status; elif is_up; then echo up; else echo down; fi ;;
	*) die "usage: ${0##*/} up|down|status" ;;
	esac
}

# need_node fails if npm or Node.js is missing, or if Node.js is too old.
need_node() {
	if ! command -v npm >/dev/null || ! node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)'; then
		die "Node.js 20 or newer is missing, or npm: on Debian the packages nodejs and npm"
	fi
}

# cache_entry NAME INPUT… prints the cache folder for a result that was made from these input files and
# strings. The folder's name depends on the contents of the files, not on their times.
cache_entry() {
	local name=$1 input
	shift
	for input in "$@"; do
		if [ -f "$input" ]; then cat "$input"; else echo "$input"; fi
	done | sha256sum | { read -r sum _; echo "$CACHE/$name-${sum:0:12}"; }
}

# machine_pid MACHINE prints the ID of a machine's first process, and fails if the machine does not run. A file has
# that ID. Another process may have the same ID by now, so machine_pid checks that the process is in the machine's
# network namespace.
machine_pid() {
	local pid ours
	pid=$(cat "$STATE/$1.pid" 2>/dev/null) || return 1
	# After a reboot, neither namespace exists. Two empty results must not count as equal.
	ours=$(stat -Lc %i "/run/netns/$(netns "$1")" 2>/dev/null) || return 1
	[ "$(stat -Lc %i "/proc/$pid/ns/net" 2>/dev/null)" = "$ours" ] || return 1
	echo "$pid"
}

# node_pid is machine_pid of the machine with the control plane: without it, there is no lab.
node_pid() { machine_pid "$(machines | sed -n 1p)"; }

# node_run COMMAND… runs a command on the node NODE, by default the first one.
node_run() {
	nsenter --target "$(machine_pid "${NODE:-$(first_node)}")" --mount --uts --ipc --net --pid --root --wd=/ -- \
		env PATH=/opt/kubernetes:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

kubernetes_dir() { "$LAB/build/kubernetes/build" --dir; }

# kubectl runs the lab's version of kubectl, always with the lab's kubeconfig, never with the user's.
kubectl() { "$(kubernetes_dir)/kubectl" --kubeconfig "$LAB_KUBECONFIG" "$@"; }

rook_dir() { "$LAB/build/rook/build" "$(rook_minor)" --dir; }

# rook_minor prints Rook's minor version, such as 1.18. build/rook has a folder of that name.
rook_minor() {
	local version=${ROOK_VERSION#v}
	echo "${version%.*}"
}

# node_rootfs_dir and ceph_rootfs_dir print folders in the cache that several parts use.
node_rootfs_dir() { cache_entry node-rootfs "$LAB/parts/node-rootfs" "$LAB/rootfs.sh" "$DEBIAN_SUITE"; }

ceph_rootfs_dir() { cache_entry "ceph-$CEPH_VERSION" "$LAB/parts/ceph-rootfs" "$LAB/rootfs.sh" "$CEPH_SUITE" "$CEPH_VERSION"; }

ceph_version_file() { echo "$(ceph_rootfs_dir)/version"; }

# ceph_built prints the version of Ceph in the cache. If the stack pins another version, it prints that
# version, too.
ceph_built() {
	local version
	version=$(cat "$(ceph_version_file)")
	echo "Ceph $version of Debian $CEPH_SUITE$([ "$version" = "$CEPH_VERSION" ] || echo ", where stacks/$STACK.env pins $CEPH_VERSION")"
}

images_archive() {
	echo "$(cache_entry images "$LAB/parts/images" "$LAB/image.sh" "$LAB/pause/main.go" "$(ceph_rootfs_dir)" "$(ceph_version_file)" "$(rook_dir)" "$CEPH_IMAGE" "$ROOK_IMAGE" "$PAUSE_IMAGE").tar"
}

# make_once ENTRY COMMAND… lets COMMAND fill a folder, and renames it to ENTRY when it is complete. If
# several processes want the same entry, one makes it and the others wait.
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

# render FILE prints the file with each @NAME@ replaced by the value of the variable NAME. It fails if
# a variable is unset or empty.
render() {
	local text name
	text=$(cat "$1")
	while [[ $text =~ @([A-Z][A-Z_]*)@ ]]; do
		name=${BASH_REMATCH[1]}
		text=${text//"@$name@"/${!name:?asked for by $1}}
	done
	printf '%s\n' "$text"
}

# disk_files prints the files behind the disks of the OSDs. volume_names prints the names of the
# local volumes: file0, file1, …, block0, ….
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

# node_disks NODE prints the loop devices of a node's OSDs. With several nodes, each has one.
node_disks() {
	if [ "$NODES" = 1 ]; then lab_disks; else loop_device "$STATE/disks/osd$(($(number "$1") - 1)).img"; fi
}

# loop_device FILE prints the loop device of a file, if the device uses direct I/O.
loop_device() {
	losetup --list --noheadings --output NAME,DIO,BACK-FILE | awk -v "file=$1" '$2 == 1 && $3 == file {print $1}'
}

# lab_disks prints the loop devices of the OSDs.
lab_disks() {
	local file
	disk_files | while read -r file; do loop_device "$file"; done
}
