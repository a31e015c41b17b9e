package mem

import (
	"cmp"
	"context"
	"slices"
	"unsafe"

	"assay/workload"
	"assay/workload/isolation"
)

// versionStore is an isolation.Store on a Multiversion.
type versionStore struct {
	shell
	d *Multiversion
}

// OpenIsolation returns a Store on a new, empty database: two Stores opened so
// share nothing. The address and the errors are OpenBank's, with the bugs of
// IsolationBugs.
func OpenIsolation(_ context.Context, target workload.Target) (isolation.Store, error) {
	o, err := parse(target, IsolationBugs())
	if err != nil {
		return nil, err
	}
	d, err := NewIsolation(o)
	if err != nil {
		return nil, err
	}
	return d.Isolation(), nil
}

// Promise implements isolation.Store.
func (s *versionStore) Promise() string { return "strict-serializable" }

// Session implements isolation.Store. Every second session is on the other
// side, if there comes to be one.
func (s *versionStore) Session(context.Context) (isolation.Session, error) {
	if err := s.d.guard(true); err != nil {
		return nil, err
	}
	defer s.d.mu.Unlock()
	s.d.opened++
	return &versionSession{d: s.d, side: s.d.opened % 2}, nil
}

// Read implements isolation.Store. It holds up all other calls while it lasts,
// and the callbacks must make none.
func (s *versionStore) Read(ctx context.Context, list func(key int64, elements []int64) error, register func(key, value int64) error) error {
	if err := s.d.guard(true); err != nil {
		return err
	}
	defer s.d.mu.Unlock()
	lists, registers := s.d.sorted(spaceList), s.d.sorted(spaceRegister)
	for i := range s.d.armed {
		if bug := &s.d.armed[i]; bug.cut != nil && s.d.hits(bug.probability) {
			lists, registers = bug.cut(s.d, lists, registers)
			bug.strikes++
			break
		}
	}
	err := each(ctx, lists, func(key int64) error {
		return list(key, s.d.data.latest(thing{spaceList, key}).lists[0])
	})
	if err != nil {
		return err
	}
	return each(ctx, registers, func(key int64) error {
		return register(key, s.d.data.latest(thing{spaceRegister, key}).value)
	})
}

// sorted returns the keys of a space in ascending order.
func (d *Multiversion) sorted(in space) []int64 {
	var keys []int64
	for t := range d.data.things {
		if t.space == in {
			keys = append(keys, t.key)
		}
	}
	slices.SortFunc(keys, cmp.Compare)
	return keys
}

// Size implements isolation.Store. It is memory, there being no disk: the
// versions and, once, the elements of the lists.
func (s *versionStore) Size(context.Context) (size workload.Size, err error) {
	err = s.locked(true, func() error {
		names := map[space]string{spaceList: "list", spaceRegister: "register", spaceGroup: "group", spaceRow: "pair_row"}
		size.Rows = map[string]int64{}
		for t, all := range s.d.data.things {
			size.Rows[names[t.space]]++
			size.Bytes += int64(len(all))*int64(unsafe.Sizeof(version{})) + 8*int64(len(s.d.data.latest(t).lists[0]))
		}
		size.Tables = size.Bytes
		s.d.countStrikes(size.Rows)
		return nil
	})
	return size, err
}
