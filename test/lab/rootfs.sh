# Makes root file systems from Debian's packages. Sourced.
# shellcheck shell=bash

# debian_root ROOT SUITE PACKAGE… is a minimal Debian with these packages.
debian_root() {
	local root=$1 suite=$2 script=/usr/share/debootstrap/scripts/$2
	shift 2
	# A suite that is younger than this machine's debootstrap is made as sid is.
	[ -e "$script" ] || script=/usr/share/debootstrap/scripts/sid
	say "debootstrap of Debian $suite"
	debootstrap --variant=minbase "$suite" "$root" "${DEBIAN_MIRROR:-http://deb.debian.org/debian}" "$script"
	leave_out_documentation "$root"
	say "packages: $*"
	install_packages "$root" "$@"
}

leave_out_documentation() {
	printf 'path-exclude=%s\n' '/usr/share/doc/*' '/usr/share/man/*' '/usr/share/locale/*' >"$1/etc/dpkg/dpkg.cfg.d/no-documentation"
}

# install_packages ROOT PACKAGE… mounts what maintainer scripts expect in a mount
# namespace of its own, so that nothing stays mounted whatever happens.
install_packages() {
	local root=$1
	shift
	printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" # packages start nothing
	chmod +x "$root/usr/sbin/policy-rc.d"
	# The Release file of Debian's testing is valid for a week, and mirrors may be older.
	# shellcheck disable=SC2016 # expanded by the inner shell
	unshare --mount --pid --fork sh -euc '
		root=$1; shift
		mount -t proc proc "$root/proc"
		mount -t sysfs -o ro sysfs "$root/sys"
		export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
		chroot "$root" apt-get -o Acquire::Check-Valid-Until=false update
		chroot "$root" apt-get install -y --no-install-recommends "$@"
		chroot "$root" apt-get clean
	' - "$root" "$@"
	rm -rf "$root"/var/lib/apt/lists/* "$root/usr/sbin/policy-rc.d"
}
