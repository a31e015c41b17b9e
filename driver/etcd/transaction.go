package etcd

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"

	"assay/driver/ordered"
	"assay/driver/rows"
	"assay/store"
)

// Limits of one request (manual 3.4, "Configuration options"): --max-txn-ops, 128 by default, for
// comparisons and for changes; --max-request-bytes, 1.5 MiB, of which requests stay well clear.
const (
	maxOps     = 128
	partBytes  = 1_000_000
	maxValue   = 1_000_000
	insertRows = maxOps - 1 // beside the mark
)

func limits() ordered.Limits {
	return ordered.Limits{Value: maxValue, Changed: partBytes, Part: partBytes, PartKeys: insertRows}
}

// transaction is an optimistic ordered.Keys. All reads are at the revision of the first. Writes are
// kept until one request commits them, if all reads still hold (manual 3.4, "etcd API",
// "Transaction"). One goroutine uses it.
//
// A key has changed if its mod_revision differs; a missing key has 0. A range is unchanged if no
// key has a mod_revision beyond the revision read, and all keys read are still there. So a commit
// has read the state at its own time.
type transaction struct {
	ctx context.Context
	*connection
	// mark is the mark's key and epoch its mod_revision, which the commit compares unless it is 0.
	mark  []byte
	epoch int64
	// stale: the first read may ask any member. member: all reads ask the only member connected.
	stale, member bool
	// forgets: the transaction will not write and keeps no ranges.
	forgets bool
	// assumes takes unread keys for absent, which the commit checks. patient repeats reads of
	// ranges until they are answered.
	assumes, patient bool

	revision int64 // that is read; 0 before the first read
	read     map[string]found
	ranges   [][2][]byte
	assumed  []string
	writes   map[string][]byte // nil of a key that is cleared
	cleared  [][2][]byte       // ranges, in which nothing is written
	pending  []string          // keys that are asked for with the next request
	// sent: a byte of the commit may have left.
	sent bool
}

// found is a key as read: value, nil if absent, and mod_revision.
type found struct {
	value    []byte
	revision int64
}

func (c *connection) begin(ctx context.Context) *transaction {
	return &transaction{ctx: ctx, connection: c, read: map[string]found{}, writes: map[string][]byte{}}
}

func (c *connection) reader(ctx context.Context) *transaction {
	t := c.begin(ctx)
	t.forgets = true
	return t
}

func (t *transaction) rangeRequest(key, end []byte) *pb.RangeRequest {
	return &pb.RangeRequest{Key: key, RangeEnd: end, Revision: t.revision, Serializable: t.member || t.stale && t.revision == 0}
}

func (t *transaction) Ask(key []byte) ordered.Asked { return ordered.Asked{Wait: t.Get(key)} }

// Get returns a function that waits for a key. One request reads all keys asked for before the
// first wait.
func (t *transaction) Get(key []byte) func() ([]byte, error) {
	name := string(key)
	_, written := t.writes[name]
	_, known := t.read[name]
	switch {
	case written || known:
	case t.assumes:
		t.read[name] = found{}
		t.assumed = append(t.assumed, name)
	default:
		t.pending = append(t.pending, name)
	}
	return func() ([]byte, error) {
		if value, written := t.writes[name]; written {
			return value, nil
		}
		if _, known := t.read[name]; !known {
			if err := t.fetch(); err != nil {
				return nil, err
			}
		}
		return t.read[name].value, nil
	}
}

func (t *transaction) fetch() error {
	for len(t.pending) > 0 {
		names := t.pending[:min(len(t.pending), maxOps)]
		answers, err := t.readKeys(names)
		if err != nil {
			return err
		}
		for i, name := range names {
			t.read[name] = found{}
			for _, kv := range answers[i].Kvs {
				t.read[name] = foundOf(kv)
			}
		}
		t.pending = t.pending[len(names):]
	}
	return nil
}

// foundOf is a present key. gRPC delivers an empty value as nil.
func foundOf(kv *mvccpb.KeyValue) found {
	of := found{kv.Value, kv.ModRevision}
	if of.value == nil {
		of.value = []byte{}
	}
	return of
}

func (t *transaction) readKeys(names []string) ([]*pb.RangeResponse, error) {
	if len(names) == 1 {
		answer, err := t.readRange(t.rangeRequest([]byte(names[0]), nil))
		return []*pb.RangeResponse{answer}, err
	}
	q := &pb.TxnRequest{}
	for _, name := range names {
		q.Success = append(q.Success, readOp(t.rangeRequest([]byte(name), nil)))
	}
	answer, _, err := call(t.ctx, t.kv.Txn, q)
	if err != nil {
		return nil, err
	}
	t.at(answer.Header)
	var all []*pb.RangeResponse
	for _, part := range answer.Responses {
		all = append(all, part.GetResponseRange())
	}
	if len(all) != len(names) {
		return nil, fmt.Errorf("%d keys were asked for, and %d answered", len(names), len(all))
	}
	return all, nil
}

func readOp(of *pb.RangeRequest) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestRange{RequestRange: of}}
}

func (t *transaction) readRange(q *pb.RangeRequest) (answer *pb.RangeResponse, err error) {
	ask := func(ctx context.Context) (err error) {
		answer, _, err = call(ctx, t.kv.Range, q)
		return err
	}
	if t.patient {
		err = t.insist(t.ctx, "read", ask)
	} else {
		err = ask(t.ctx)
	}
	if err == nil {
		t.at(answer.Header)
	}
	return answer, err
}

func (t *transaction) at(header *pb.ResponseHeader) {
	if t.revision == 0 {
		t.revision = header.Revision
	}
}

func (t *transaction) Scan(begin, end []byte, limit int, reverse bool) ([]ordered.Pair, error) {
	within := func(name string) bool { return name >= string(begin) && name < string(end) }
	away := 0
	for name, value := range t.writes {
		if value == nil && within(name) {
			away++
		}
	}
	q := t.rangeRequest(begin, end)
	q.Limit = int64(limit + away) // at most so many of them are not there any more
	if reverse {
		q.SortOrder, q.SortTarget = pb.RangeRequest_DESCEND, pb.RangeRequest_KEY
	}
	answer, err := t.readRange(q)
	if err != nil {
		return nil, err
	}
	t.keep(begin, end, reverse, answer)
	pairs := make([]ordered.Pair, 0, len(answer.Kvs))
	for _, kv := range answer.Kvs {
		if _, written := t.writes[string(kv.Key)]; !written {
			pairs = append(pairs, ordered.Pair{Key: kv.Key, Value: kv.Value})
		}
	}
	if len(t.writes) == 0 {
		return pairs, nil
	}
	for name, value := range t.writes {
		if value != nil && within(name) {
			pairs = append(pairs, ordered.Pair{Key: []byte(name), Value: value})
		}
	}
	slices.SortFunc(pairs, func(a, b ordered.Pair) int {
		if reverse {
			a, b = b, a
		}
		return bytes.Compare(a.Key, b.Key)
	})
	return pairs[:min(limit, len(pairs))], nil
}

// keep remembers the range as far as it was read.
func (t *transaction) keep(begin, end []byte, reverse bool, answer *pb.RangeResponse) {
	if t.forgets {
		return
	}
	for _, kv := range answer.Kvs {
		t.read[string(kv.Key)] = foundOf(kv)
	}
	if n := len(answer.Kvs); answer.More && n > 0 {
		if last := answer.Kvs[n-1].Key; reverse {
			begin = last
		} else {
			end = append(bytes.Clone(last), 0)
		}
	}
	t.ranges = append(t.ranges, [2][]byte{bytes.Clone(begin), bytes.Clone(end)})
}

func (t *transaction) Count(begin, end []byte) (int64, error) {
	q := t.rangeRequest(begin, end)
	q.CountOnly = true
	answer, err := t.readRange(q)
	return answer.GetCount(), err
}

func (t *transaction) Set(key, value []byte) { t.writes[string(key)] = append([]byte{}, value...) }
func (t *transaction) Clear(key []byte)      { t.writes[string(key)] = nil }

func (t *transaction) ClearRange(begin, end []byte) {
	t.cleared = append(t.cleared, [2][]byte{begin, end})
}

// commit applies the writes if all reads still hold. errConflict, errFenced and *existsError (a key
// was taken for absent) mean that nothing was done. Without writes it asks nothing.
func (t *transaction) commit() error {
	if len(t.writes) == 0 && len(t.cleared) == 0 {
		return nil
	}
	q := t.request()
	if most := max(len(q.Compare), len(q.Success), len(q.Failure)); most > maxOps {
		return fmt.Errorf("%w: it comes to %d keys that are compared or changed, and etcd takes %d (--max-txn-ops)", ordered.ErrManyRows, most, maxOps)
	}
	if err := t.ctx.Err(); err != nil {
		return err // before anything was sent
	}
	answer, sent, err := call(t.ctx, t.kv.Txn, q)
	t.sent = sent
	if err != nil || answer.Succeeded {
		return err
	}
	t.sent = false // etcd says that it did nothing
	return t.refused(answer)
}

func (t *transaction) request() *pb.TxnRequest {
	q := &pb.TxnRequest{}
	equal := func(key []byte, revision int64) {
		q.Compare = append(q.Compare, &pb.Compare{Key: key, Target: pb.Compare_MOD, Result: pb.Compare_EQUAL, TargetUnion: &pb.Compare_ModRevision{ModRevision: revision}})
	}
	if t.epoch != 0 {
		equal(t.mark, t.epoch)
		q.Failure = append(q.Failure, readOp(&pb.RangeRequest{Key: t.mark, KeysOnly: true}))
	}
	for _, name := range slices.Sorted(maps.Keys(t.read)) {
		equal([]byte(name), t.read[name].revision)
	}
	for _, of := range t.ranges {
		q.Compare = append(q.Compare, &pb.Compare{Key: of[0], RangeEnd: of[1], Target: pb.Compare_MOD, Result: pb.Compare_LESS,
			TargetUnion: &pb.Compare_ModRevision{ModRevision: t.revision + 1}})
	}
	for _, name := range slices.Sorted(maps.Keys(t.writes)) {
		if value := t.writes[name]; value != nil {
			q.Success = append(q.Success, &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: []byte(name), Value: value}}})
		} else {
			q.Success = append(q.Success, deleteOp([]byte(name), nil))
		}
	}
	for _, of := range t.cleared {
		q.Success = append(q.Success, deleteOp(of[0], of[1]))
	}
	for _, name := range t.assumed {
		q.Failure = append(q.Failure, readOp(&pb.RangeRequest{Key: []byte(name), KeysOnly: true}))
	}
	return q
}

func deleteOp(key, end []byte) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: &pb.DeleteRangeRequest{Key: key, RangeEnd: end}}}
}

// existsError: a key taken for absent exists.
type existsError struct{ key []byte }

func (e *existsError) Error() string { return fmt.Sprintf("key %q is there already", e.key) }

func (e *existsError) Unwrap() error { return &rows.Violation{Kind: store.Unique} }

// refused says why a commit was refused, by what etcd read in its place.
func (t *transaction) refused(answer *pb.TxnResponse) error {
	looked := answer.Responses
	if t.epoch != 0 && len(looked) > 0 {
		of := looked[0].GetResponseRange().GetKvs()
		if len(of) == 0 || of[0].ModRevision != t.epoch {
			return errFenced
		}
		looked = looked[1:]
	}
	for _, of := range looked {
		if kvs := of.GetResponseRange().GetKvs(); len(kvs) > 0 {
			return &existsError{kvs[0].Key}
		}
	}
	return errConflict
}
