package disk

import (
	"errors"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// volume is the file system: its present and its synced names and attributes, and its files'
// contents. Its methods are safe for concurrent use.
type volume struct {
	folder string // of the contents

	mu     sync.RWMutex
	inodes map[uint64]*inode
	root   *inode
	last   uint64 // the number of the inode that was made last
	down   bool   // cut and not restored
	// journal is Options.Journal. pending are the folders that may have names that are not durable.
	journal  bool
	pending  map[*inode]struct{}
	failures map[uint64]*failure
	// released is closed while no operation may be held: the disk is cut, or ends.
	released chan struct{}
}

// inode is a file, a folder, or something that only has a name, such as a socket.
type inode struct {
	number        uint64
	attr, atSync  attributes
	content       *content // of a regular file, else nil
	folder        *folder  // of a folder, else nil
	target        string   // of a symbolic link
	names, synced map[entry]struct{}
	lookups       uint64 // how often the kernel has been told of it and has not forgotten
}

type attributes struct {
	mode, uid, gid, device uint32
	modified, changed      time.Time
}

type entry struct {
	folder *inode
	name   string
}

// folder holds the present and the synced names, and pending, the names that may differ.
type folder struct {
	entries, synced map[string]*inode
	pending         map[string]struct{}
}

func newVolume(dir string) (*volume, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	v := &volume{folder: dir, inodes: map[uint64]*inode{}, pending: map[*inode]struct{}{}, failures: map[uint64]*failure{}, released: make(chan struct{})}
	v.root = v.add(attributes{mode: syscall.S_IFDIR | 0o755}) // as inode 1, which FUSE prescribes
	return v, nil
}

// add makes an inode without a name. v.mu must be locked.
func (v *volume) add(attr attributes) *inode {
	attr.modified = time.Now()
	attr.changed = attr.modified
	v.last++
	n := &inode{number: v.last, attr: attr, atSync: attr, names: map[entry]struct{}{}, synced: map[entry]struct{}{}}
	switch attr.mode & syscall.S_IFMT {
	case syscall.S_IFDIR:
		n.folder = &folder{entries: map[string]*inode{}, synced: map[string]*inode{}, pending: map[string]struct{}{}}
	case syscall.S_IFREG:
		n.content = &content{path: filepath.Join(v.folder, strconv.FormatUint(n.number, 10))}
	}
	v.inodes[n.number] = n
	return n
}

// enter gives a name to an inode, or removes the name if n is nil. v.mu must be locked.
func (v *volume) enter(at entry, n *inode) {
	f := at.folder.folder
	old := f.entries[at.name]
	if old != nil {
		delete(old.names, at)
		old.attr.changed = time.Now()
	}
	delete(f.entries, at.name)
	if n != nil {
		f.entries[at.name] = n
		n.names[at] = struct{}{}
		n.attr.changed = time.Now()
	}
	f.pending[at.name] = struct{}{}
	v.pending[at.folder] = struct{}{}
	at.folder.attr.modified = time.Now()
	at.folder.attr.changed = at.folder.attr.modified
	if old != nil {
		v.drop(old)
	}
}

// commit makes a name durable as it is now.
//
// A moved file is never lost, nor found under both names, because file systems with a journal make
// a rename durable as a whole. So if a name leaves a file, commit also commits the file's other
// names and the folders above them. If a name comes to a file, its earlier name goes.
func (v *volume) commit(at entry) {
	f := at.folder.folder
	delete(f.pending, at.name)
	old, now := f.synced[at.name], f.entries[at.name]
	if old == now {
		return
	}
	delete(f.synced, at.name)
	if now != nil {
		f.synced[at.name] = now
		now.synced[at] = struct{}{}
		for other := range maps.Clone(now.synced) {
			if other.folder.folder.entries[other.name] != now {
				v.commit(other)
			}
		}
	}
	if old == nil {
		return
	}
	delete(old.synced, at)
	for other := range maps.Clone(old.names) {
		v.commit(other)
		v.commitAbove(other.folder)
	}
	if len(old.names) == 0 && old.folder != nil {
		for name := range maps.Clone(old.folder.pending) { // what was moved out of it
			v.commit(entry{old, name})
		}
	}
	v.drop(old)
}

func (v *volume) commitAbove(n *inode) {
	for n != v.root && len(n.names) > 0 {
		at := n.name()
		v.commit(at)
		n = at.folder
	}
}

func (n *inode) name() entry {
	for at := range n.names {
		return at
	}
	return entry{}
}

// path is one of an inode's paths, from the root on; empty if it has no name.
func (v *volume) path(n *inode) string {
	var full string
	for n != v.root {
		at := n.name()
		if at.folder == nil {
			return ""
		}
		full = path.Join(at.name, full)
		n = at.folder
	}
	return full
}

// drop forgets an inode that is unreachable now and after a cut. v.mu must be locked.
func (v *volume) drop(n *inode) {
	if n == v.root || len(n.names) > 0 || len(n.synced) > 0 || n.lookups > 0 {
		return
	}
	delete(v.inodes, n.number)
	delete(v.pending, n)
	if n.content != nil {
		_ = n.content.remove() // the folder is removed in the end
	}
}

// links is stat(2)'s number of links; 1 for a folder, as on Btrfs, counts no folders in it.
func (n *inode) links() uint32 {
	if n.folder != nil {
		return 1
	}
	return uint32(len(n.names))
}

func (v *volume) syncFolder(n *inode) {
	v.commitFolder(n)
	n.atSync = n.attr
	v.writeJournal()
}

func (v *volume) commitFolder(n *inode) {
	for _, name := range slices.Sorted(maps.Keys(n.folder.pending)) {
		v.commit(entry{n, name})
	}
	delete(v.pending, n)
}

func (v *volume) writeJournal() {
	if !v.journal {
		return
	}
	for n := range maps.Clone(v.pending) {
		v.commitFolder(n)
	}
}

// syncFile makes a file's content durable, and its attributes unless contentOnly. It may fail on
// demand.
func (v *volume) syncFile(n *inode, contentOnly bool) error {
	if n.content == nil {
		return nil
	}
	if n.content.unsynced() || n.attr != n.atSync {
		defer v.writeJournal()
	}
	if n.content.unsynced() {
		if f := v.strikes(SyncError, n); f != nil {
			if err := n.content.failSync(f.asked.Old); err != nil {
				return err
			}
			return syscall.EIO
		}
	}
	if !contentOnly {
		n.atSync = n.attr
	}
	return n.content.sync()
}

func (v *volume) syncAll() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.down {
		return ErrDown
	}
	var failed []error
	for _, n := range v.inodes {
		n.atSync = n.attr
		if n.content != nil {
			failed = append(failed, n.content.sync())
		}
	}
	for n := range maps.Clone(v.pending) {
		v.commitFolder(n)
	}
	return errors.Join(failed...)
}

func (v *volume) space() (s unix.Statfs_t, err error) {
	err = unix.Statfs(v.folder, &s)
	return s, err
}
