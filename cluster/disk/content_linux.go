package disk

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

// content is the bytes of one regular file. The file data has the present bytes. The file undo has,
// at the same offsets, the bytes that a cut brings back: before the first change of a page since
// the last sync the page is copied there. So a sync only forgets them. Its methods are safe for
// concurrent use.
type content struct {
	path string // of data; undo is at path + ".undo"

	mu    sync.RWMutex
	data  *os.File // nil while nobody has the file open
	undo  *os.File // nil until something is to be kept
	opens int
	// size is the present length, synced the length at the last sync, and least the smallest
	// length since then: bytes written again behind it count as unsynced.
	size, synced, least int64
	// dirty are the pages written since the last sync. undo has the synced bytes of those that
	// begin below synced.
	dirty   pages
	written time.Time
	// kept is true while undo may hold something.
	kept bool
	// failed are pages whose sync failed. data has the written bytes, undo the bytes that a cut
	// brings back, and a later sync does not save them.
	failed pages
}

func (c *content) open() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.ready(); err != nil {
		return err
	}
	c.opens++
	return nil
}

func (c *content) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opens = max(c.opens-1, 0)
	c.rest()
}

func (c *content) ready() (err error) {
	if c.data == nil {
		c.data, err = os.OpenFile(c.path, os.O_RDWR|os.O_CREATE, 0o600)
	}
	return err
}

// rest closes the files if the content has no user.
func (c *content) rest() {
	if c.opens > 0 {
		return
	}
	if c.data != nil {
		_ = c.data.Close() // nothing is buffered
		c.data = nil
	}
	if c.undo != nil {
		_ = c.undo.Close()
		c.undo = nil
	}
}

func (c *content) remove() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opens = 0
	c.rest()
	err := os.Remove(c.path)
	if errors.Is(err, os.ErrNotExist) { // nothing was ever written
		err = nil
	}
	if undoErr := os.Remove(c.path + ".undo"); !errors.Is(undoErr, os.ErrNotExist) {
		err = errors.Join(err, undoErr)
	}
	return err
}

func (c *content) length() int64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.size
}

func (c *content) lastWrite() time.Time {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.written
}

// forgetUsers closes the files, because their users are gone with the mount.
func (c *content) forgetUsers() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opens = 0
	c.rest()
}

func (c *content) read(p []byte, offset int64) (int, error) {
	c.mu.RLock()
	if c.data != nil {
		defer c.mu.RUnlock()
		return readUpTo(c.data, p, offset)
	}
	c.mu.RUnlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.rest()
	if err := c.ready(); err != nil {
		return 0, err
	}
	return readUpTo(c.data, p, offset)
}

func readUpTo(f *os.File, p []byte, offset int64) (int, error) {
	n, err := f.ReadAt(p, offset)
	if err == io.EOF {
		err = nil
	}
	return n, err
}

// write returns ENOSPC if it needs more space and grow is false.
func (c *content) write(p []byte, offset int64, grow bool) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.rest()
	end := offset + int64(len(p))
	if !grow && end > c.size {
		return 0, syscall.ENOSPC
	}
	if err := c.ready(); err != nil {
		return 0, err
	}
	if err := c.mark(offset, end); err != nil {
		return 0, err
	}
	n, err := c.data.WriteAt(p, offset)
	c.size, c.written = max(c.size, offset+int64(n)), time.Now()
	return n, err
}

// mark makes the pages of a range dirty and first keeps their synced bytes.
func (c *content) mark(from, to int64) error {
	last := pagesUpTo(to)
	for n := from / pageSize; n < last; n++ {
		switch {
		case c.dirty.has(n):
			continue
		case c.failed.has(n): // what a cut brings back is kept already
			c.failed.remove(n)
		case n*pageSize < c.synced:
			run := n + 1 // as many as there are in a row, with one copy
			for run < last && run*pageSize < c.synced && !c.dirty.has(run) && !c.failed.has(run) {
				run++
			}
			if err := c.keep(n*pageSize, min(run*pageSize, c.synced)); err != nil {
				return err
			}
			for ; n < run-1; n++ {
				c.dirty.add(n)
			}
		}
		c.dirty.add(n)
	}
	return nil
}

func (c *content) keep(from, to int64) (err error) {
	if err := c.undoReady(); err != nil {
		return err
	}
	c.kept = true
	return copyRange(c.undo, c.data, from, to)
}

func (c *content) undoReady() (err error) {
	if c.undo == nil {
		c.undo, err = os.OpenFile(c.path+".undo", os.O_RDWR|os.O_CREATE, 0o600)
	}
	return err
}

// copyRange copies a range between files at the same offsets, and zeros where from has no bytes.
func copyRange(to, from *os.File, start, end int64) error {
	buffer := make([]byte, min(end-start, 1<<20))
	for start < end {
		part := buffer[:min(int64(len(buffer)), end-start)]
		n, err := readUpTo(from, part, start)
		if err != nil {
			return err
		}
		clear(part[n:])
		if _, err := to.WriteAt(part, start); err != nil {
			return err
		}
		start += int64(len(part))
	}
	return nil
}

func (c *content) truncate(size int64, grow bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.rest()
	if !grow && size > c.size {
		return syscall.ENOSPC
	}
	if err := c.ready(); err != nil {
		return err
	}
	if size < c.size {
		if err := c.mark(size, min(c.size, c.synced)); err != nil {
			return err
		}
		c.dropFrom(size)
	}
	if err := c.data.Truncate(size); err != nil {
		return err
	}
	c.size, c.least = size, min(c.least, size)
	return nil
}

// dropFrom forgets the pages behind size that a cut would not bring back.
func (c *content) dropFrom(size int64) {
	first := max(pagesUpTo(size), pagesUpTo(c.synced))
	for _, set := range []*pages{&c.dirty, &c.failed} {
		for n := first; n < int64(len(set.words))<<6; n++ {
			set.remove(n)
		}
	}
}

// punch writes zeros, up to the size.
func (c *content) punch(from, to int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.rest()
	to = min(to, c.size)
	if from >= to {
		return nil
	}
	if err := c.ready(); err != nil {
		return err
	}
	if err := c.mark(from, to); err != nil {
		return err
	}
	return zero(c.data, from, to)
}

func zero(f *os.File, from, to int64) error {
	if from >= to {
		return nil
	}
	zeros := make([]byte, min(to-from, 1<<20))
	for from < to {
		part := zeros[:min(int64(len(zeros)), to-from)]
		if _, err := f.WriteAt(part, from); err != nil {
			return err
		}
		from += int64(len(part))
	}
	return nil
}

func (c *content) unsynced() bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.dirty.count > 0 || c.size != c.synced || c.least != c.synced
}

func (c *content) sync() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.rest()
	return c.settle()
}

// settle makes data the synced state, except for failed pages.
func (c *content) settle() error {
	c.dirty.clear()
	c.synced, c.least = c.size, c.size
	if !c.kept || c.failed.count > 0 {
		return nil // there is nothing in undo, or it is needed
	}
	c.kept = false
	return os.Truncate(c.path+".undo", 0)
}
