package readback

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"assay/internal/expect"
	"assay/report"
	"assay/store"
)

// kept is a database of rows; with a problem the first cannot be decoded.
type kept struct {
	loaded, rows int64
	other        map[string]int64
	problem      error
}

func (k kept) Rows() int64 { return k.loaded }

func (k kept) Save(ctx context.Context, folder string, read func(int64)) error {
	if k.problem != nil && !store.Unreadable(ctx, "account", k.problem) {
		return k.problem
	}
	read(k.rows)
	return os.WriteFile(filepath.Join(folder, "state.bin"), []byte("now"), 0o600)
}

func (k kept) Find(context.Context) (*store.Leftover, error) {
	return &store.Leftover{Rows: k.rows}, nil
}

func (k kept) Size(context.Context) (store.Size, error) { return store.Size{Rows: k.other}, nil }

// answers are successive reports of the schema's owner.
type answers []error

func (a *answers) Confirm(context.Context) error {
	first := (*a)[0]
	*a = (*a)[1:]
	return first
}

func (*answers) Reading(ctx context.Context) context.Context { return ctx }

// TestStatesAreKept: only a good state replaces an earlier one.
func TestStatesAreKept(t *testing.T) {
	gone, odd := errors.New("it is another's"), errors.New("no number")
	empty := map[string]int64{"account": 0, "transfer": 0}
	for name, c := range map[string]struct {
		db   kept
		how  Reading
		own  answers
		fail error
		left string
		rows int64
	}{
		"all is there":                   {db: kept{loaded: 100, rows: 100}, own: answers{nil, nil}, left: "now"},
		"another's before":               {db: kept{loaded: 100, rows: 100}, own: answers{gone}, fail: gone, left: "before"},
		"another's meanwhile":            {db: kept{loaded: 100, rows: 100}, own: answers{nil, gone}, fail: gone, left: "before"},
		"emptied":                        {db: kept{loaded: 100, other: empty}, own: answers{nil, nil}, fail: &EmptiedError{Expected: 100}, left: "before"},
		"emptied, and nothing loaded":    {db: kept{other: empty}, how: Reading{Acknowledged: 50}, own: answers{nil, nil}, fail: &EmptiedError{Expected: 50}, left: "before"},
		"few rows":                       {db: kept{loaded: 5, other: empty}, own: answers{nil, nil}, left: "now"},
		"rows in another table":          {db: kept{loaded: 100, other: map[string]int64{"account": 0, "transfer": 3}}, own: answers{nil, nil}, left: "now"},
		"lost by the run's own doing":    {db: kept{loaded: 100, other: empty}, how: Reading{MayBeEmpty: true}, own: answers{nil, nil}, left: "now"},
		"a row that cannot be read":      {db: kept{loaded: 100, rows: 100, problem: odd}, own: answers{nil, nil}, left: "now", rows: 1},
		"a user's row that cannot be so": {db: kept{loaded: 100, rows: 100, problem: odd}, how: Reading{Existing: true}, own: answers{nil, nil}, fail: odd, left: "before"},
	} {
		c.how.Folder, c.how.State, c.how.Progress = t.TempDir(), "state.bin", func(int64) {}
		path := filepath.Join(c.how.Folder, c.how.State)
		expect.NoError(t, os.WriteFile(path, []byte("before"), 0o600))
		unread, err := c.how.Save(t.Context(), c.db, &c.own)
		if want := (*EmptiedError)(nil); errors.As(c.fail, &want) {
			got := (*EmptiedError)(nil)
			if !errors.As(err, &got) || *got != *want || Instead(err) == "" {
				t.Errorf("%s: %v", name, err)
			}
		} else if !errors.Is(err, c.fail) || Instead(err) != "" {
			t.Errorf("%s: %v, want %v", name, err, c.fail)
		}
		text, err := os.ReadFile(path)
		expect.NoError(t, err)
		if string(text) != c.left || unread.Rows != c.rows {
			t.Errorf("%s: the state is that of %s, and %d rows are unread", name, text, unread.Rows)
		}
		if files, err := os.ReadDir(c.how.Folder); err != nil || len(files) != 1 {
			t.Errorf("%s: the folder has %v, %v", name, files, err)
		}
	}
}

// TestRecordsAreOfTheirRun: an earlier version's folder has none, and another run's does not count.
func TestRecordsAreOfTheirRun(t *testing.T) {
	folder := t.TempDir()
	if _, known, err := Load(folder, "one"); known || err != nil {
		t.Errorf("there is a record: %v, %v", known, err)
	}
	for text, good := range map[string]bool{`{"run": "one", "gone": "nothing"}`: true, `{"run": "two"}`: false, `{`: false} {
		expect.NoError(t, os.WriteFile(filepath.Join(folder, File), []byte(text), 0o600))
		record, known, err := Load(folder, "one")
		if bad := (*report.InputError)(nil); known != good || good && record.Gone != "nothing" || !good && !errors.As(err, &bad) {
			t.Errorf("%s: %+v, %v, %v", text, record, known, err)
		}
	}
}
