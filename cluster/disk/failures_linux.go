package disk

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"
)

type failure struct {
	asked Failure

	mu     sync.Mutex
	effect Effect
	file   *inode // of BitFlip

	kept  map[int64]time.Time // since when operations are kept waiting, by their numbers
	ended chan struct{}       // closed when the failure is over
}

// strikes returns and counts the failure that an operation on an inode meets; nil if it meets none.
// v.mu must be locked, at least for reading.
func (v *volume) strikes(kind Kind, n *inode) *failure {
	for _, f := range v.failures {
		if f.asked.Kind != kind {
			continue
		}
		name := v.path(n)
		if Match(f.asked.Files, name) && f.count(name) {
			return f
		}
	}
	return nil
}

// count returns false if the failure strikes no more.
func (f *failure) count(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.asked.Kind == SyncError && f.effect.Times > 0 {
		return false
	}
	f.effect.Times++
	f.effect.File = name
	return true
}

func (f *failure) seen() Effect {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.effect
	for _, began := range f.kept {
		now.Held = max(now.Held, time.Since(began))
	}
	return now
}

// fail brings a failure about. The kernel must forget the pages of the returned inodes.
func (v *volume) fail(id uint64, asked Failure) (stale []uint64, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.down {
		return nil, ErrDown
	}
	if v.failures[id] != nil {
		return nil, fmt.Errorf("failure %d is in force already", id)
	}
	f := &failure{asked: asked, kept: map[int64]time.Time{}, ended: make(chan struct{})}
	switch asked.Kind {
	case BitFlip:
		if err := v.flip(f); err != nil {
			return nil, err
		}
		stale = append(stale, f.file.number)
	case ReadError:
		for _, n := range v.matching(asked.Files) {
			stale = append(stale, n.number)
		}
	case SyncError, Full, Delay, SlowSync, Stall:
	default:
		return nil, fmt.Errorf("a disk has no failure %q", asked.Kind)
	}
	v.failures[id] = f
	return stale, nil
}

func (v *volume) matching(pattern string) []*inode {
	var all []*inode
	paths := map[*inode]string{}
	for _, n := range v.inodes {
		if n.content == nil || len(n.names) == 0 {
			continue
		}
		if name := v.path(n); Match(pattern, name) {
			all = append(all, n)
			paths[n] = name
		}
	}
	slices.SortFunc(all, func(a, b *inode) int { return strings.Compare(paths[a], paths[b]) })
	return all
}

// flip inverts a bit of a non-empty file, both chosen by the seed. It tries some offsets for a byte
// other than zero, because reserved space is zero and never read.
func (v *volume) flip(f *failure) error {
	files := slices.DeleteFunc(v.matching(f.asked.Files), func(n *inode) bool { return n.content.length() == 0 })
	if len(files) == 0 {
		return fmt.Errorf("no file that is not empty matches %q", f.asked.Files)
	}
	chance := rand.New(rand.NewPCG(f.asked.Seed, 0))
	f.file = files[chance.IntN(len(files))]
	var one [1]byte
	for range 256 {
		f.effect.Offset = chance.Int64N(f.file.content.length())
		if _, err := f.file.content.read(one[:], f.effect.Offset); err != nil {
			return err
		}
		if one[0] != 0 {
			break
		}
	}
	f.effect.Was, f.effect.Is = one[0], one[0]^1<<chance.IntN(8)
	if err := f.file.content.flip(f.effect.Offset, f.effect.Was^f.effect.Is); err != nil {
		return err
	}
	f.effect.File = v.path(f.file)
	return nil
}

// met counts the BitFlips whose bit was read. v.mu must be locked, at least for reading.
func (v *volume) met(n *inode, read []byte, offset int64) {
	for _, f := range v.failures {
		if at := f.effect.Offset - offset; f.file == n && 0 <= at && at < int64(len(read)) && read[at] == f.effect.Is {
			f.count(v.path(n))
		}
	}
}

func (v *volume) effect(id uint64) (Effect, error) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	f := v.failures[id]
	if f == nil {
		return Effect{}, fmt.Errorf("there is no failure %d", id)
	}
	return f.seen(), nil
}

// mend ends a failure. The kernel must forget the pages of the returned inodes. A bit that could not
// be inverted again stays a failure, so that mend can be called again.
func (v *volume) mend(id uint64) (effect Effect, stale []uint64, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	f := v.failures[id]
	if f == nil {
		return Effect{}, nil, fmt.Errorf("there is no failure %d", id)
	}
	effect = f.seen()
	if f.asked.Kind == BitFlip && v.inodes[f.file.number] == f.file {
		var one [1]byte
		n, err := f.file.content.read(one[:], effect.Offset)
		if err == nil && n > 0 && one[0] == effect.Is { // else it was cut off, or written since
			err = f.file.content.flip(effect.Offset, effect.Was^effect.Is)
			effect.Undone, stale = err == nil, []uint64{f.file.number}
		}
		if err != nil {
			return effect, stale, err
		}
	}
	delete(v.failures, id)
	close(f.ended)
	return effect, stale, nil
}
