package disk

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The methods here are POSIX's system calls on names and attributes. The kernel has checked
// permissions. Errors are syscall.Errno.

// lookup finds a name in a folder. The inode is kept until the kernel has forgotten it.
func (v *volume) lookup(dir uint64, name string) (*inode, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	parent, err := v.dir(dir)
	if err != nil {
		return nil, err
	}
	n := parent.folder.entries[name]
	if n == nil {
		return nil, syscall.ENOENT
	}
	n.lookups++
	return n, nil
}

func (v *volume) forget(number, lookups uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	n := v.inodes[number]
	if n == nil {
		return
	}
	n.lookups -= min(lookups, n.lookups)
	v.drop(n)
}

// find requires that v.mu is locked.
func (v *volume) find(number uint64) (*inode, error) {
	if v.down {
		return nil, syscall.EIO
	}
	n := v.inodes[number]
	if n == nil {
		return nil, syscall.ESTALE
	}
	return n, nil
}

// file requires that v.mu is locked.
func (v *volume) file(number uint64) (*inode, error) {
	n, err := v.find(number)
	if err == nil && n.content == nil {
		err = syscall.EINVAL
	}
	return n, err
}

// dir requires that v.mu is locked.
func (v *volume) dir(number uint64) (*inode, error) {
	n, err := v.find(number)
	if err == nil && n.folder == nil {
		err = syscall.ENOTDIR
	}
	return n, err
}

func (v *volume) make(dir uint64, name string, attr attributes, target string) (*inode, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	parent, err := v.dir(dir)
	switch {
	case err != nil:
		return nil, err
	case parent.folder.entries[name] != nil:
		return nil, syscall.EEXIST
	case len(parent.names) == 0 && parent != v.root: // it was removed
		return nil, syscall.ENOENT
	case v.strikes(Full, parent) != nil:
		return nil, syscall.ENOSPC
	}
	if parent.attr.mode&syscall.S_ISGID != 0 {
		attr.gid = parent.attr.gid
		if attr.mode&syscall.S_IFMT == syscall.S_IFDIR {
			attr.mode |= syscall.S_ISGID
		}
	}
	n := v.add(attr)
	n.target = target
	v.enter(entry{parent, name}, n)
	n.lookups++
	return n, nil
}

func (v *volume) link(number, dir uint64, name string) (*inode, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	n, err := v.find(number)
	if err != nil {
		return nil, err
	}
	parent, err := v.dir(dir)
	switch {
	case err != nil:
		return nil, err
	case parent.folder.entries[name] != nil:
		return nil, syscall.EEXIST
	case n.folder != nil:
		return nil, syscall.EPERM
	case len(n.names) == 0:
		return nil, syscall.ENOENT
	}
	v.enter(entry{parent, name}, n)
	n.lookups++
	return n, nil
}

// remove takes a name away, of an empty folder if folder is true, else of anything but a folder.
func (v *volume) remove(dir uint64, name string, folder bool) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	parent, err := v.dir(dir)
	if err != nil {
		return err
	}
	n := parent.folder.entries[name]
	switch {
	case n == nil:
		return syscall.ENOENT
	case folder && n.folder == nil:
		return syscall.ENOTDIR
	case !folder && n.folder != nil:
		return syscall.EISDIR
	case folder && len(n.folder.entries) > 0:
		return syscall.ENOTEMPTY
	}
	v.enter(entry{parent, name}, nil)
	return nil
}

// rename moves a name. It replaces an existing target unless keep is true.
func (v *volume) rename(fromDir uint64, from string, toDir uint64, to string, keep bool) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	source, err := v.dir(fromDir)
	if err != nil {
		return err
	}
	target, err := v.dir(toDir)
	if err != nil {
		return err
	}
	n, old := source.folder.entries[from], target.folder.entries[to]
	switch {
	case n == nil:
		return syscall.ENOENT
	case old != nil && keep:
		return syscall.EEXIST
	case n == old: // two names of one file: rename(2) does nothing
		return nil
	case old == nil:
	case n.folder != nil && old.folder == nil:
		return syscall.ENOTDIR
	case n.folder == nil && old.folder != nil:
		return syscall.EISDIR
	case old.folder != nil && len(old.folder.entries) > 0:
		return syscall.ENOTEMPTY
	}
	n.lookups++ // so that it is not dropped while it has no name
	v.enter(entry{source, from}, nil)
	v.enter(entry{target, to}, n)
	n.lookups--
	return nil
}

// setAttributes is what chmod, chown, utimes and truncate set; nil leaves a value as it is.
type setAttributes struct {
	mode, uid, gid *uint32
	size           *int64
	modified       *time.Time
}

func (v *volume) set(number uint64, s setAttributes) (*inode, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	n, err := v.find(number)
	if err != nil {
		return nil, err
	}
	if s.size != nil {
		if n.content == nil {
			return nil, syscall.EINVAL
		}
		if err := n.content.truncate(*s.size, v.holds(n, *s.size)); err != nil {
			return nil, err
		}
		n.attr.modified = time.Now()
	}
	if s.mode != nil {
		n.attr.mode = n.attr.mode&syscall.S_IFMT | *s.mode&^syscall.S_IFMT
	}
	if s.uid != nil {
		n.attr.uid = *s.uid
	}
	if s.gid != nil {
		n.attr.gid = *s.gid
	}
	if s.modified != nil {
		n.attr.modified = *s.modified
	}
	n.attr.changed = time.Now()
	return n, nil
}

// sync is fsync(2), or fdatasync(2) with contentOnly.
func (v *volume) sync(number uint64, contentOnly bool) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	n, err := v.find(number)
	if err != nil {
		return err
	}
	if n.folder != nil {
		v.syncFolder(n)
		return nil
	}
	return v.syncFile(n, contentOnly)
}

func (v *volume) read(number uint64, p []byte, offset int64) (int, error) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	n, err := v.file(number)
	if err != nil {
		return 0, err
	}
	if v.strikes(ReadError, n) != nil {
		return 0, syscall.EIO
	}
	done, err := n.content.read(p, offset)
	v.met(n, p[:done], offset)
	return done, err
}

func (v *volume) write(number uint64, p []byte, offset int64, durable bool) (written int, err error) {
	written, err = v.writeOnly(number, p, offset)
	if err == nil && durable {
		err = v.sync(number, true)
	}
	return written, err
}

func (v *volume) writeOnly(number uint64, p []byte, offset int64) (int, error) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	n, err := v.file(number)
	if err != nil {
		return 0, err
	}
	return n.content.write(p, offset, v.holds(n, offset+int64(len(p))))
}

// allocate is fallocate(2), with or without FALLOC_FL_KEEP_SIZE, or with a mode that writes zeros.
func (v *volume) allocate(number uint64, offset, length int64, mode uint32) error {
	v.mu.RLock()
	defer v.mu.RUnlock()
	n, err := v.file(number)
	if err != nil {
		return err
	}
	end := offset + length
	const zeroes = unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_ZERO_RANGE
	if mode&^(unix.FALLOC_FL_KEEP_SIZE|zeroes) != 0 {
		return syscall.EOPNOTSUPP
	}
	if mode&zeroes != 0 {
		if err := n.content.punch(offset, end); err != nil {
			return err
		}
	}
	if mode&unix.FALLOC_FL_KEEP_SIZE != 0 || end <= n.content.length() {
		return nil
	}
	return n.content.truncate(end, v.holds(n, end))
}

func (v *volume) holds(n *inode, size int64) bool {
	return size <= n.content.length() || v.strikes(Full, n) == nil
}
