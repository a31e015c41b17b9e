#!/bin/sh
# Prints the folder for the files of the tests' servers: in memory if there is plenty, else the usual
# one.
#
# The conformance suites make and drop thousands of tables, for which ext4 costs more than all other
# work. No test's result depends on it: power cuts and full disks have images and disks of their own.
set -eu

memory=/dev/shm

# plenty: 8 GiB of room, 16 GiB of free memory (in KiB), and programs may run there.
plenty() {
	[ -d $memory ] && [ -w $memory ] || return 1
	[ "$(df -Pk $memory | awk 'NR == 2 { print $4 }')" -ge 8388608 ] || return 1
	[ "$(awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo)" -ge 16777216 ] || return 1
	! grep -q "^[^ ]* $memory [^ ]* [^ ]*noexec" /proc/mounts
}

if plenty; then echo $memory; else echo "${TMPDIR:-/tmp}"; fi
