#!/bin/sh
# Prints the folder below which the tests' servers have their files: in memory where
# there is plenty, else the usual one.
#
# The conformance suites make and drop thousands of tables, and making a file costs ext4
# more than the servers need for all else. Nothing that the tests assert depends on it:
# power cuts and full disks are tried on images and disks of their own.
set -eu

memory=/dev/shm

# plenty: 8 GiB of room and 16 GiB of free memory (in KiB), and programs may run.
plenty() {
	[ -d $memory ] && [ -w $memory ] || return 1
	[ "$(df -Pk $memory | awk 'NR == 2 { print $4 }')" -ge 8388608 ] || return 1
	[ "$(awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo)" -ge 16777216 ] || return 1
	! grep -q "^[^ ]* $memory [^ ]* [^ ]*noexec" /proc/mounts
}

if plenty; then echo $memory; else echo "${TMPDIR:-/tmp}"; fi
