package ycsb

import (
	"errors"
	"testing"

	"assay/driver/mem"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
)

// lacking is a database without something.
type lacking struct {
	store.Database
	lacks store.Lacks
}

func (l lacking) Lacks() store.Lacks { return l.lacks }

// TestMixesThatTheDatabaseCannotDo: what the database says of scans ends a run whose mix
// has them, and no other.
func TestMixesThatTheDatabaseCannotDo(t *testing.T) {
	for mix, possible := range map[string]bool{"a": true, "b": true, "c": true, "d": true, "e": false, "f": true, "read=0.9,scan=0.1": false} {
		c := Defaults()
		c.Mix = mix
		_, err := c.Open(t.Context(), lacking{lacks: store.Lacks{store.OrderedScans: "keys are hashed"}}, 1, 1)
		refused, is := errors.AsType[*store.OptionError](err)
		if possible && err != nil || !possible && (!is || refused.Option != "scan" || refused.Reason != "keys are hashed") {
			t.Errorf("mix %s: %v", mix, err)
		}
	}
}

// TestAnUpdateThatChangesNothing: where an update writes what is there already, a database may
// count no changed row, and that does not mean that there is no record.
func TestAnUpdateThatChangesNothing(t *testing.T) {
	c := Defaults()
	c.Properties = map[string]string{"dataintegrity": "true", "updateproportion": "1", "readproportion": "0"}
	var target store.Target
	c.Target(&target)
	of, err := schemaOf(target)
	expect.NoError(t, err)
	db, err := mem.Open(t.Context(), store.Target{Address: "mem://"}, of)
	expect.NoError(t, err)
	w, err := c.Open(t.Context(), db, 1, 1)
	expect.NoError(t, err)
	expect.NoError(t, w.Create(t.Context(), store.Marker{}))
	client, err := w.Client(t.Context(), 0)
	expect.NoError(t, err)
	defer client.Close()
	if a := client.Attempt(t.Context(), 0, 1); a.Outcome != history.Committed || len(a.Values) != 1 {
		t.Errorf("an update of no record is %+v", a)
	}
}

// TestWhatAnUpdateFinds: a record that is not there is told, but of a database that makes
// it then.
func TestWhatAnUpdateFinds(t *testing.T) {
	c := Defaults()
	c.Records, c.Mix = 10, "update=1"
	of, err := schemaOf(store.Target{})
	expect.NoError(t, err)
	for _, lacks := range []store.Lacks{nil, {store.UniqueKeys: "an insert replaces"}} {
		db, err := mem.Open(t.Context(), store.Target{Address: "mem://"}, of)
		expect.NoError(t, err)
		w, err := c.Open(t.Context(), lacking{db, lacks}, 1, 1)
		expect.NoError(t, err)
		expect.NoError(t, w.Create(t.Context(), store.Marker{}))
		client, err := w.Client(t.Context(), 0)
		expect.NoError(t, err)
		a := client.Attempt(t.Context(), 0, 1)
		told := len(a.Values) == 2 && version(a.Values[1]) == absent
		if a.Kind != KindUpdate || a.Outcome != history.Committed || told != (lacks == nil) {
			t.Errorf("lacking %v: %+v", lacks, a)
		}
		client.Close()
	}
}

// TestWhoAnswersReads: the flag reaches the database, which refuses what it does not have.
func TestWhoAnswersReads(t *testing.T) {
	c := Defaults()
	c.Read = store.ReadSecondaryPreferred
	expect.NoError(t, c.Validate())
	target := store.Target{Address: "mem://"}
	c.Target(&target)
	of, err := schemaOf(target)
	expect.NoError(t, err)
	if _, err := mem.Open(t.Context(), target, of); target.Read != c.Read || err == nil {
		t.Errorf("reads by %q: %v", target.Read, err)
	}
	c.Read = "replica"
	if refused, is := errors.AsType[*store.OptionError](c.Validate()); !is || refused.Option != "--read" {
		t.Errorf("reads by %q: %v", c.Read, refused)
	}
}
