package disk

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"assay/internal/expect"
)

var (
	modelSteps = flag.Int("disk.steps", 700, "operations of the test against the model, in each of its parts")
	modelSeed  = flag.Uint64("disk.seed", 1, "seed of these operations")
)

type node struct {
	data, synced       []byte // of a file
	entries, syncedSet map[string]*node
}

func newFolderNode() *node {
	return &node{entries: map[string]*node{}, syncedSet: map[string]*node{}}
}

func (n *node) sync() {
	n.synced = slices.Clone(n.data)
	n.syncedSet = maps.Clone(n.entries)
}

func (n *node) lose() {
	n.data = slices.Clone(n.synced)
	n.entries = maps.Clone(n.syncedSet)
	for _, child := range n.entries {
		child.lose()
	}
}

// play applies random operations to a disk and to the model.
type play struct {
	t      *testing.T
	disk   *Disk
	random *rand.Rand
	root   *node
	log    []string
}

func newPlay(t *testing.T, seed uint64) *play {
	return &play{t: t, disk: openDisk(t), random: rand.New(rand.NewPCG(seed, 0)), root: newFolderNode()}
}

func (p *play) fatalf(format string, a ...any) {
	p.t.Helper()
	p.t.Fatalf("%s\nthe last operations:\n%v", fmt.Sprintf(format, a...), p.log[max(0, len(p.log)-40):])
}

func (p *play) must(err, want error, format string, a ...any) {
	p.t.Helper()
	p.log = append(p.log, fmt.Sprintf(format, a...)+"\n")
	if !errors.Is(err, want) {
		p.fatalf("%s: %v, want %v", fmt.Sprintf(format, a...), err, want)
	}
}

func (p *play) folderOf() (*node, string) {
	name := fmt.Sprintf("d%d", p.random.IntN(3))
	if n := p.root.entries[name]; n != nil && p.random.IntN(3) > 0 {
		return n, filepath.Join(p.disk.Folder(), name)
	}
	return p.root, p.disk.Folder()
}

func (p *play) step() {
	folder, path := p.folderOf()
	name := fmt.Sprintf("f%d", p.random.IntN(5))
	file, full := folder.entries[name], filepath.Join(path, name)
	switch p.random.IntN(16) {
	case 0, 1, 2, 3:
		p.write(folder, file, name, full)
	case 4, 5:
		if file != nil {
			p.truncate(file, full)
		}
	case 6, 7:
		if file != nil {
			p.must(fsync(full), nil, "fsync %s", full)
			file.sync()
		}
	case 8:
		p.must(fsync(path), nil, "fsync %s", path)
		folder.sync()
	case 9:
		if file != nil {
			p.must(os.Remove(full), nil, "remove %s", full)
			delete(folder.entries, name)
		}
	case 10:
		p.rename(folder, file, name, path)
	case 11:
		p.mkdir()
	case 12:
		p.rmdir()
	case 13, 14:
		p.compare(file, full)
	case 15:
		if file != nil {
			p.mapped(file, full)
		}
	}
}

func fsync(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// write makes a missing file and writes some bytes at some offset.
func (p *play) write(folder, file *node, name, full string) {
	flags := os.O_RDWR
	if file == nil {
		file = &node{}
		folder.entries[name] = file
		flags |= os.O_CREATE | os.O_EXCL
	}
	durable := p.random.IntN(8) == 0
	if durable {
		flags |= syscall.O_DSYNC
	}
	f, err := os.OpenFile(full, flags, 0o600)
	p.must(err, nil, "open %s %x", full, flags)
	defer f.Close()
	offset, data := p.random.IntN(40_000), make([]byte, 1+p.random.IntN(9000))
	for i := range data {
		data[i] = byte(1 + p.random.IntN(255))
	}
	_, err = f.WriteAt(data, int64(offset))
	p.must(err, nil, "write %s [%d, +%d)", full, offset, len(data))
	file.grow(offset + len(data))
	copy(file.data[offset:], data)
	if durable {
		file.synced = slices.Clone(file.data)
	}
}

func (n *node) grow(size int) {
	if size > len(n.data) {
		n.data = append(n.data, make([]byte, size-len(n.data))...)
	}
}

func (p *play) truncate(file *node, full string) {
	size := p.random.IntN(45_000)
	p.must(os.Truncate(full, int64(size)), nil, "truncate %s %d", full, size)
	file.grow(size)
	file.data = file.data[:size:size]
}

func (p *play) mapped(file *node, full string) {
	if len(file.data) == 0 {
		return
	}
	f, err := os.OpenFile(full, os.O_RDWR, 0)
	p.must(err, nil, "open %s", full)
	defer f.Close()
	memory, err := unix.Mmap(int(f.Fd()), 0, len(file.data), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	p.must(err, nil, "map %s", full)
	if !bytes.Equal(memory, file.data) {
		p.fatalf("what is mapped of %s is not what was written", full)
	}
	offset := p.random.IntN(len(file.data))
	end := min(len(file.data), offset+1+p.random.IntN(6000))
	for i := offset; i < end; i++ {
		memory[i] ^= 0x5a
		file.data[i] ^= 0x5a
	}
	p.must(unix.Munmap(memory), nil, "change %s by its map [%d, %d)", full, offset, end)
}

func (p *play) rename(folder, file *node, name, path string) {
	to := fmt.Sprintf("f%d", p.random.IntN(5))
	if file == nil || to == name {
		return
	}
	p.must(os.Rename(filepath.Join(path, name), filepath.Join(path, to)), nil, "rename %s/%s %s", path, name, to)
	delete(folder.entries, name)
	folder.entries[to] = file
}

func (p *play) mkdir() {
	name := fmt.Sprintf("d%d", p.random.IntN(3))
	want := error(nil)
	if p.root.entries[name] != nil {
		want = os.ErrExist
	} else {
		p.root.entries[name] = newFolderNode()
	}
	p.must(os.Mkdir(filepath.Join(p.disk.Folder(), name), 0o700), want, "mkdir %s", name)
}

func (p *play) rmdir() {
	name := fmt.Sprintf("d%d", p.random.IntN(3))
	n := p.root.entries[name]
	var want error
	switch {
	case n == nil:
		want = syscall.ENOENT
	case len(n.entries) > 0:
		want = syscall.ENOTEMPTY
	default:
		delete(p.root.entries, name)
	}
	p.must(syscall.Rmdir(filepath.Join(p.disk.Folder(), name)), want, "rmdir %s", name)
}

func (p *play) compare(file *node, full string) {
	text, err := os.ReadFile(full)
	if file == nil {
		p.must(err, os.ErrNotExist, "read %s", full)
		return
	}
	p.must(err, nil, "read %s", full)
	if at := differ(text, file.data); at >= 0 {
		p.fatalf("%s has %d bytes, the model %d; they differ at %d", full, len(text), len(file.data), at)
	}
}

// differ is the first difference of two texts; negative if there is none.
func differ(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	if len(a) != len(b) {
		return min(len(a), len(b))
	}
	return -1
}

func (p *play) cut(mode Mode) {
	seed := p.random.Uint64()
	loss, err := p.disk.Cut(mode, seed)
	p.must(err, nil, "cut %s: %v", mode, loss)
	if _, err := os.Create(filepath.Join(p.disk.Folder(), "refused")); !errors.Is(err, syscall.EIO) {
		p.fatalf("a file was made on a disk that was cut: %v", err)
	}
	p.must(p.disk.Restore(), nil, "restore")
}

func (p *play) compareAll(n *node, path string) {
	p.t.Helper()
	listed, err := os.ReadDir(path)
	p.must(err, nil, "list %s", path)
	if len(listed) != len(n.entries) {
		p.fatalf("%s has %v, the model %v", path, listed, slices.Sorted(maps.Keys(n.entries)))
	}
	for name, child := range n.entries {
		if child.entries != nil {
			p.compareAll(child, filepath.Join(path, name))
		} else {
			p.compare(child, filepath.Join(path, name))
		}
	}
}

// TestTheWorstCutLosesExactlyWhatWasNotSynced compares the disk with a model that keeps whole
// copies of the synced state.
func TestTheWorstCutLosesExactlyWhatWasNotSynced(t *testing.T) {
	p := newPlay(t, *modelSeed)
	for range *modelSteps {
		p.step()
		if p.random.IntN(60) == 0 {
			p.cut(Worst)
			p.root.lose()
			p.compareAll(p.root, p.disk.Folder())
		}
	}
	p.compareAll(p.root, p.disk.Folder())
	expect.NoError(t, p.disk.Sync())
	p.cut(Worst)
	p.compareAll(p.root, p.disk.Folder()) // all of it was synced
}

// TestOtherCutsLeaveOldOrNew: each sector is the synced or the written one, and each name has its
// old or its new target.
func TestOtherCutsLeaveOldOrNew(t *testing.T) {
	p := newPlay(t, *modelSeed)
	survived, lost, torn := 0, 0, 0
	for range *modelSteps {
		p.step()
		if p.random.IntN(60) > 0 {
			continue
		}
		mode := Modes()[1+p.random.IntN(2)]
		p.cut(mode)
		left := p.readBack(p.disk.Folder())
		if p.random.IntN(4) == 0 { // what a cut has left is durable
			p.cut(Worst)
			again := p.readBack(p.disk.Folder())
			if !again.equal(left) {
				p.fatalf("a second cut took away what the first had left")
			}
		}
		counts, err := p.root.folderMayBecome(left, mode)
		if err != nil {
			p.fatalf("%v", err)
		}
		survived, lost, torn = survived+counts[0], lost+counts[1], torn+counts[2]
		p.root = left
	}
	if survived == 0 || lost == 0 || torn == 0 {
		t.Errorf("%d pages survived, %d were lost, %d were torn: each must happen", survived, lost, torn)
	}
}

// readBack makes a model of the disk, all of it synced.
func (p *play) readBack(path string) *node {
	n := newFolderNode()
	listed, err := os.ReadDir(path)
	p.must(err, nil, "list %s", path)
	for _, e := range listed {
		full := filepath.Join(path, e.Name())
		if e.IsDir() {
			n.entries[e.Name()] = p.readBack(full)
			continue
		}
		text, err := os.ReadFile(full)
		p.must(err, nil, "read %s", full)
		n.entries[e.Name()] = &node{data: text, synced: slices.Clone(text)}
	}
	n.sync()
	return n
}

func (n *node) equal(other *node) bool {
	return bytes.Equal(n.data, other.data) && maps.EqualFunc(n.entries, other.entries, (*node).equal)
}

// folderMayBecome compares a folder with its remains, and counts surviving, lost and torn pages.
func (n *node) folderMayBecome(left *node, mode Mode) (counts [3]int, err error) {
	names := maps.Clone(n.entries)
	maps.Copy(names, n.syncedSet)
	for name := range left.entries {
		if names[name] == nil {
			return counts, fmt.Errorf("%s came from nowhere", name)
		}
	}
	for name := range names {
		now, synced, found := n.entries[name], n.syncedSet[name], left.entries[name]
		if found == nil {
			if now != nil && synced != nil {
				return counts, fmt.Errorf("%s is gone, which was there all the time", name)
			}
			continue
		}
		c, err := now.mayBecome(found, mode)
		if err != nil {
			var inOther error
			if c, inOther = synced.mayBecome(found, mode); inOther != nil {
				return counts, fmt.Errorf("%s is neither what was written (%w) nor what was synced (%w)", name, err, inOther)
			}
		}
		for i := range counts {
			counts[i] += c[i]
		}
	}
	return counts, nil
}

// mayBecome returns an error if no cut can leave this of a file or folder.
func (n *node) mayBecome(found *node, mode Mode) (counts [3]int, err error) {
	switch {
	case n == nil:
		return counts, errors.New("there was none")
	case (n.entries == nil) != (found.entries == nil):
		return counts, errors.New("it was a file and is a folder, or the reverse")
	case n.entries != nil:
		return n.folderMayBecome(found, mode)
	}
	return n.contentMayBecome(found.data, mode)
}

func (n *node) contentMayBecome(found []byte, mode Mode) (counts [3]int, err error) {
	if len(found) > max(len(n.data), len(n.synced)) {
		return counts, fmt.Errorf("%d bytes were never there", len(found))
	}
	for page := 0; page < len(found); page += pageSize {
		old, new := 0, 0
		for at := page; at < min(page+pageSize, len(found)); at += sectorSize {
			end := min(at+sectorSize, len(found))
			isNew := bytes.Equal(found[at:end], padded(n.data, at, end))
			isOld := bytes.Equal(found[at:end], padded(n.synced, at, end)) || isZero(found[at:end])
			isCutOff := n.cutOff(found[at:end], at)
			switch {
			case !isNew && !isOld && !isCutOff:
				return counts, fmt.Errorf("the sector at %d is another", at)
			case isNew && !isOld && !isCutOff:
				new++
			case isOld && !isNew:
				old++
			}
		}
		switch {
		case old > 0 && new > 0 && mode == Some:
			return counts, fmt.Errorf("the page at %d survived in part", page)
		case old > 0 && new > 0:
			counts[2]++
		case old > 0:
			counts[1]++
		case new > 0:
			counts[0]++
		}
	}
	return counts, nil
}

// cutOff reports whether a sector is a synced one with a zeroed end, as after a truncation.
func (n *node) cutOff(sector []byte, at int) bool {
	synced := padded(n.synced, at, at+len(sector))
	end := len(bytes.TrimRight(sector, "\x00"))
	return bytes.Equal(sector[:end], synced[:end])
}

func padded(text []byte, from, to int) []byte {
	piece := make([]byte, to-from)
	if from < len(text) {
		copy(piece, text[from:min(to, len(text))])
	}
	return piece
}

func isZero(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }
