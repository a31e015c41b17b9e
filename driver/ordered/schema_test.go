package ordered

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"assay/internal/expect"
	"assay/store"
)

// shared is memory as a Transaction and a Database, whose clock stands at 1000 seconds.
type shared struct{ *memory }

func (s shared) ClearRange(begin, end []byte) {
	pairs, _ := s.Scan(begin, end, len(s.values), false)
	for _, p := range pairs {
		s.Clear(p.Key)
	}
}

func (s shared) Count(begin, end []byte) (int64, error) {
	pairs, err := s.Scan(begin, end, len(s.values), false)
	return int64(len(pairs)), err
}

func (s shared) Look(_ context.Context, _ string, work func(shared) error) error   { return work(s) }
func (s shared) Change(_ context.Context, _ string, work func(shared) error) error { return work(s) }

func (s shared) Ends(_ shared, ttl time.Duration) (int64, error) {
	return 1000 + int64(ttl/time.Second), nil
}

func (s shared) Left(_ shared, end int64) (time.Duration, error) {
	return time.Duration(end-1000) * time.Second, nil
}

// TestKeptLease: the lease's format is that of earlier versions, which must respect it. A foreign
// value is refused and stays.
func TestKeptLease(t *testing.T) {
	db := shared{&memory{values: map[string][]byte{}}}
	s := NewSchema("assay", trialSchema(), db, trialLimits, "", "etcd_lease")
	earlier := `{"holder":{"token":"t","run":"r","host":"h","machine":"m","pid":7,"started":"s"},"since":1700000000000000000,"etcd_lease":1060}`
	db.Set(s.Layout.Lease(), []byte(earlier))
	var held *store.HeldError
	if err := s.TakeLease(t.Context(), store.Holder{Token: "other"}, time.Minute, ""); !errors.As(err, &held) ||
		held.Lease.Token != "t" || held.Lease.Remaining != time.Minute || held.Lease.Since.Unix() != 1_700_000_000 {
		t.Errorf("%v of an earlier version's lease", err)
	}
	expect.NoError(t, s.RenewLease(t.Context(), "t", time.Minute))
	var before, after map[string]any
	expect.NoError(t, json.Unmarshal([]byte(earlier), &before))
	expect.NoError(t, json.Unmarshal(db.values[string(s.Layout.Lease())], &after))
	for name, value := range before {
		if is, _ := json.Marshal(after[name]); len(after) != len(before) {
			t.Errorf("%s is %s", name, is)
		} else if was, _ := json.Marshal(value); string(is) != string(was) {
			t.Errorf("%s is %s, and was %s", name, is, was)
		}
	}
	for _, wrong := range []string{"", "x", "{}", `{"holder":{}}`, `{"holder":7,"etcd_lease":1}`, `{"etcd_lease":"x"}`} {
		db.Set(s.Layout.Lease(), []byte(wrong))
		var foreign *store.ForeignError
		if err := s.TakeLease(t.Context(), store.Holder{Token: "other"}, time.Minute, "t"); !errors.As(err, &foreign) {
			t.Errorf("%q was taken for a lease: %v", wrong, err)
		}
		if string(db.values[string(s.Layout.Lease())]) != wrong {
			t.Errorf("%q was changed", wrong)
		}
	}
}
