package server

import (
	"cmp"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"assay/cluster/machine"
)

// apartScript prepares new namespaces as root, and becomes the program as the user. It starts in
// the process's private folder. Its arguments are the folder of the machine's own disk ("-" for
// none), the numbers of the user and the group, and the program with its arguments.
//
// /dev/shm is new and empty, except for the private folder if that lies in it (as in tests) and
// its neighbours, the cluster's other files. The script reaches the old /dev/shm by a file number,
// because its name leads to the new one (proc(5), /proc/pid/fd; mount(8), --no-canonicalize).
//
// It unmounts other nodes' disks, which would keep a file system alive after its power is cut.
// Later mounts and unmounts outside also happen inside, but not the reverse (mount(8), "slave").
// setpriv keeps the death signal, which a change of the user clears (prctl(2), PR_SET_PDEATHSIG).
const apartScript = `kept=
case $PWD in
/dev/shm/*)
	kept=${PWD#/dev/shm/} kept=/dev/shm/${kept%%/*}
	exec 3<"$kept" ;;
esac
mount --make-rslave / && mount -t proc proc /proc && mount -t tmpfs -o mode=1777 tmpfs /dev/shm || exit 1
if [ "$kept" ]; then
	mkdir "$kept" && mount --no-canonicalize --rbind /proc/self/fd/3 "$kept" && cd "$PWD" || exit 1
	exec 3<&-
fi
own=$1 user=$2 group=$3
shift 3
mounts=$(cat /proc/self/mounts)
while read -r _ at _; do
	case $at in
	"$own" | "$own"/*) ;;
	*/assay-cluster-*/disks/*) umount -l "$at" ;;
	esac
done <<END
$mounts
END
exec setpriv --reuid="$user" --regid="$group" --clear-groups --pdeathsig keep -- "$@"`

// setApart starts the command as the first process of new namespaces (pid_namespaces(7)), with
// which the kernel ends all others.
func setApart(cmd *exec.Cmd, o ProcessOptions) error {
	if os.Geteuid() != 0 {
		return &machine.UnsupportedError{What: "a process apart from all others", Reason: "it takes root"}
	}
	own, uid, gid := "", uint32(os.Geteuid()), uint32(os.Getegid())
	if o.Machine != nil {
		own = o.Machine.Folder()
	}
	if o.User != nil {
		uid, gid = o.User.UID, o.User.GID
	}
	cmd.SysProcAttr.Credential = nil // the script changes it
	cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC
	cmd.Args = append([]string{"sh", "-c", apartScript, "sh", cmp.Or(own, "-"), number(uid), number(gid)}, cmd.Args...)
	cmd.Path = "/bin/sh"
	return nil
}

func number(id uint32) string { return strconv.FormatUint(uint64(id), 10) }
