package disk

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// remembered is how long the kernel may cache names and attributes. It makes all changes itself,
// except for a cut, after which a new mount begins.
const remembered = time.Second

// mount answers the kernel's requests about one mount of a volume. Inodes go by their numbers, and
// files need no handles. After a cut all its requests fail; a new mount follows.
type mount struct {
	fuse.RawFileSystem // what is not supported
	volume             *volume

	mu      sync.Mutex
	reading map[uint64][]fuse.DirEntry // folders that are read, by their handles
	handles uint64
}

func newMount(v *volume) *mount {
	return &mount{RawFileSystem: fuse.NewDefaultRawFileSystem(), volume: v, reading: map[uint64][]fuse.DirEntry{}}
}

func status(err error) fuse.Status {
	var number syscall.Errno
	switch {
	case err == nil:
		return fuse.OK
	case errors.As(err, &number):
		return fuse.Status(number)
	}
	return fuse.EIO
}

func (m *mount) hold(cancel <-chan struct{}, h *fuse.InHeader, sync bool) {
	m.volume.hold(h.NodeId, sync, h.Pid, cancel)
}

func (m *mount) String() string { return fileSystemName }

// describe sets what stat(2) shows. The volume must be locked, at least for reading.
func (n *inode) describe(a *fuse.Attr) {
	modified := n.attr.modified
	a.Ino, a.Mode, a.Nlink = n.number, n.attr.mode, n.links()
	a.Uid, a.Gid, a.Rdev = n.attr.uid, n.attr.gid, n.attr.device
	a.Blksize = pageSize
	if n.content != nil {
		a.Size = uint64(n.content.length())
		if written := n.content.lastWrite(); written.After(modified) {
			modified = written
		}
	}
	a.Size += uint64(len(n.target))
	a.Blocks = (a.Size + sectorSize - 1) / sectorSize
	a.SetTimes(&modified, &modified, &n.attr.changed)
}

func (m *mount) answer(n *inode, err error, out *fuse.EntryOut) fuse.Status {
	if err != nil {
		return status(err)
	}
	m.volume.mu.RLock()
	defer m.volume.mu.RUnlock()
	out.NodeId, out.Generation = n.number, 1
	out.SetEntryTimeout(remembered)
	out.SetAttrTimeout(remembered)
	n.describe(&out.Attr)
	return fuse.OK
}

func (m *mount) Lookup(_ <-chan struct{}, h *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	n, err := m.volume.lookup(h.NodeId, name)
	return m.answer(n, err, out)
}

func (m *mount) Forget(number, lookups uint64) {
	m.volume.forget(number, lookups)
}

func (m *mount) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	m.volume.mu.RLock()
	defer m.volume.mu.RUnlock()
	n, err := m.volume.find(in.NodeId)
	if err != nil {
		return status(err)
	}
	out.SetTimeout(remembered)
	n.describe(&out.Attr)
	return fuse.OK
}

func (m *mount) SetAttr(cancel <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	var s setAttributes
	if mode, set := in.GetMode(); set {
		s.mode = &mode
	}
	if uid, set := in.GetUID(); set {
		s.uid = &uid
	}
	if gid, set := in.GetGID(); set {
		s.gid = &gid
	}
	if size, set := in.GetSize(); set {
		s.size = new(int64(size))
		m.hold(cancel, &in.InHeader, false)
	}
	if modified, set := in.GetMTime(); set {
		s.modified = &modified
	}
	n, err := m.volume.set(in.NodeId, s)
	if err != nil {
		return status(err)
	}
	m.volume.mu.RLock()
	defer m.volume.mu.RUnlock()
	out.SetTimeout(remembered)
	n.describe(&out.Attr)
	return fuse.OK
}

func (m *mount) make(cancel <-chan struct{}, h *fuse.InHeader, name string, mode, device uint32, target string, out *fuse.EntryOut) fuse.Status {
	m.hold(cancel, h, false)
	n, err := m.volume.make(h.NodeId, name, attributes{mode: mode, uid: h.Uid, gid: h.Gid, device: device}, target)
	return m.answer(n, err, out)
}

func (m *mount) Mknod(cancel <-chan struct{}, in *fuse.MknodIn, name string, out *fuse.EntryOut) fuse.Status {
	return m.make(cancel, &in.InHeader, name, in.Mode, in.Rdev, "", out)
}

func (m *mount) Mkdir(cancel <-chan struct{}, in *fuse.MkdirIn, name string, out *fuse.EntryOut) fuse.Status {
	return m.make(cancel, &in.InHeader, name, syscall.S_IFDIR|in.Mode&^syscall.S_IFMT, 0, "", out)
}

func (m *mount) Symlink(cancel <-chan struct{}, h *fuse.InHeader, target, name string, out *fuse.EntryOut) fuse.Status {
	return m.make(cancel, h, name, syscall.S_IFLNK|0o777, 0, target, out)
}

func (m *mount) Readlink(_ <-chan struct{}, h *fuse.InHeader) ([]byte, fuse.Status) {
	m.volume.mu.RLock()
	defer m.volume.mu.RUnlock()
	n, err := m.volume.find(h.NodeId)
	if err != nil {
		return nil, status(err)
	}
	return []byte(n.target), fuse.OK
}

func (m *mount) Link(cancel <-chan struct{}, in *fuse.LinkIn, name string, out *fuse.EntryOut) fuse.Status {
	m.hold(cancel, &in.InHeader, false)
	n, err := m.volume.link(in.Oldnodeid, in.NodeId, name)
	return m.answer(n, err, out)
}

func (m *mount) Unlink(cancel <-chan struct{}, h *fuse.InHeader, name string) fuse.Status {
	m.hold(cancel, h, false)
	return status(m.volume.remove(h.NodeId, name, false))
}

func (m *mount) Rmdir(cancel <-chan struct{}, h *fuse.InHeader, name string) fuse.Status {
	m.hold(cancel, h, false)
	return status(m.volume.remove(h.NodeId, name, true))
}

// keepTarget is RENAME_NOREPLACE of rename(2).
const keepTarget = 1

func (m *mount) Rename(cancel <-chan struct{}, in *fuse.RenameIn, from, to string) fuse.Status {
	if in.Flags&^keepTarget != 0 {
		return fuse.EINVAL
	}
	m.hold(cancel, &in.InHeader, false)
	return status(m.volume.rename(in.NodeId, from, in.Newdir, to, in.Flags&keepTarget != 0))
}

func (m *mount) Create(cancel <-chan struct{}, in *fuse.CreateIn, name string, out *fuse.CreateOut) fuse.Status {
	s := m.make(cancel, &in.InHeader, name, syscall.S_IFREG|in.Mode&^syscall.S_IFMT, 0, "", &out.EntryOut)
	if s != fuse.OK {
		return s
	}
	return m.open(out.NodeId, 0, &out.OpenOut)
}

func (m *mount) Open(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	return m.open(in.NodeId, in.Flags, out)
}

// open lets the kernel keep its cached pages: all changes go through it.
func (m *mount) open(number uint64, flags uint32, out *fuse.OpenOut) fuse.Status {
	if flags&syscall.O_TRUNC != 0 {
		if _, err := m.volume.set(number, setAttributes{size: new(int64)}); err != nil {
			return status(err)
		}
	}
	m.volume.mu.RLock()
	defer m.volume.mu.RUnlock()
	n, err := m.volume.find(number)
	if err != nil {
		return status(err)
	}
	out.OpenFlags = fuse.FOPEN_KEEP_CACHE
	if n.content == nil {
		return fuse.OK
	}
	return status(n.content.open())
}

func (m *mount) Release(_ <-chan struct{}, in *fuse.ReleaseIn) {
	m.volume.mu.RLock()
	defer m.volume.mu.RUnlock()
	if n := m.volume.inodes[in.NodeId]; n != nil && n.content != nil {
		n.content.release()
	}
}

func (m *mount) Read(cancel <-chan struct{}, in *fuse.ReadIn, buffer []byte) (fuse.ReadResult, fuse.Status) {
	m.hold(cancel, &in.InHeader, false)
	n, err := m.volume.read(in.NodeId, buffer, int64(in.Offset))
	return fuse.ReadResultData(buffer[:n]), status(err)
}

func (m *mount) Write(cancel <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	durable := in.Flags&(syscall.O_SYNC|syscall.O_DSYNC) != 0 && in.WriteFlags&fuse.WRITE_CACHE == 0
	m.hold(cancel, &in.InHeader, durable)
	n, err := m.volume.write(in.NodeId, data, int64(in.Offset), durable)
	return uint32(n), status(err)
}

func (m *mount) Flush(<-chan struct{}, *fuse.FlushIn) fuse.Status { return fuse.OK }

func (m *mount) Fsync(cancel <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	m.hold(cancel, &in.InHeader, true)
	const contentOnly = 1 // FUSE_FSYNC_FDATASYNC
	return status(m.volume.sync(in.NodeId, in.FsyncFlags&contentOnly != 0))
}

func (m *mount) FsyncDir(cancel <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	return m.Fsync(cancel, in)
}

func (m *mount) Fallocate(cancel <-chan struct{}, in *fuse.FallocateIn) fuse.Status {
	m.hold(cancel, &in.InHeader, false)
	return status(m.volume.allocate(in.NodeId, int64(in.Offset), int64(in.Length), in.Mode))
}

// OpenDir copies the names, so that changes during the reading move no entry.
func (m *mount) OpenDir(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	m.volume.mu.RLock()
	defer m.volume.mu.RUnlock()
	n, err := m.volume.dir(in.NodeId)
	if err != nil {
		return status(err)
	}
	list := []fuse.DirEntry{{Name: ".", Mode: syscall.S_IFDIR, Ino: n.number}, {Name: "..", Mode: syscall.S_IFDIR}}
	for _, name := range slices.Sorted(maps.Keys(n.folder.entries)) {
		child := n.folder.entries[name]
		list = append(list, fuse.DirEntry{Name: name, Mode: child.attr.mode, Ino: child.number})
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.handles++
	m.reading[m.handles] = list
	out.Fh = m.handles
	return fuse.OK
}

func (m *mount) ReadDir(_ <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	m.mu.Lock()
	list := m.reading[in.Fh]
	m.mu.Unlock()
	for i := in.Offset; i < uint64(len(list)); i++ {
		e := list[i]
		e.Off = i + 1
		if !out.AddDirEntry(e) {
			break
		}
	}
	return fuse.OK
}

func (m *mount) ReleaseDir(in *fuse.ReleaseIn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.reading, in.Fh)
}

func (m *mount) StatFs(_ <-chan struct{}, _ *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	s, err := m.volume.space()
	if err != nil {
		return status(err)
	}
	out.Blocks, out.Bfree, out.Bavail = s.Blocks, s.Bfree, s.Bavail
	out.Files, out.Ffree = s.Files, s.Ffree
	out.Bsize, out.Frsize, out.NameLen = uint32(s.Bsize), uint32(s.Frsize), uint32(s.Namelen)
	return fuse.OK
}
