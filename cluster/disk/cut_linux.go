package disk

import (
	"cmp"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
)

// cut takes unsynced changes back. Until restore everything fails.
func (v *volume) cut(mode Mode, seed uint64) (Loss, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.down {
		return Loss{}, ErrDown
	}
	v.down = true
	v.release()
	var loss Loss
	inodes := slices.SortedFunc(maps.Values(v.inodes), func(a, b *inode) int { return cmp.Compare(a.number, b.number) })
	for _, n := range inodes {
		if n.folder != nil {
			loss.Names += v.loseNames(n, mode, seed)
		}
	}
	var failed []error
	for _, n := range inodes {
		chance := chanceFor(mode, seed, n.number)
		if n.content != nil && (len(n.names) > 0 || len(n.synced) > 0) {
			pages, err := n.content.lose(chance, mode == Torn)
			failed = append(failed, err)
			if pages > 0 {
				loss.Files++
				loss.Bytes += pages * pageSize
			}
		}
		if chance == nil || chance.IntN(2) == 0 {
			n.attr = n.atSync
		}
		n.atSync = n.attr
	}
	v.rebuild()
	return loss, errors.Join(failed...)
}

// chanceFor returns one inode's source of randomness, independent of other inodes; nil for Worst.
func chanceFor(mode Mode, seed, number uint64) *rand.Rand {
	if mode == Worst {
		return nil
	}
	return rand.New(rand.NewPCG(seed, number))
}

// loseNames commits the surviving names of a folder and returns how many are lost.
func (v *volume) loseNames(n *inode, mode Mode, seed uint64) (lost int) {
	chance := chanceFor(mode, seed, ^n.number)
	for _, name := range slices.Sorted(maps.Keys(n.folder.pending)) {
		if _, still := n.folder.pending[name]; !still || n.folder.synced[name] == n.folder.entries[name] {
			continue
		}
		if chance != nil && chance.IntN(2) == 0 {
			v.commit(entry{n, name})
			continue
		}
		lost++
	}
	return lost
}

// rebuild makes the synced state the present one, and forgets unreachable inodes and the dead
// mount.
func (v *volume) rebuild() {
	for _, n := range v.inodes {
		clear(n.names)
		clear(n.synced)
		n.lookups = 0
	}
	reached := map[*inode]bool{v.root: true}
	for queue := []*inode{v.root}; len(queue) > 0; queue = queue[1:] {
		f := queue[0].folder
		f.entries = maps.Clone(f.synced)
		clear(f.pending)
		delete(v.pending, queue[0])
		for name, n := range f.entries {
			n.names[entry{queue[0], name}] = struct{}{}
			n.synced[entry{queue[0], name}] = struct{}{}
			if !reached[n] && n.folder != nil {
				queue = append(queue, n)
			}
			reached[n] = true
		}
	}
	for _, n := range v.inodes {
		if n.content != nil {
			n.content.forgetUsers()
		}
		v.drop(n) // if it has no name any more
	}
}

func (v *volume) restore(o Options) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.down, v.journal = false, o.Journal
	v.release()
	v.released = make(chan struct{})
}
