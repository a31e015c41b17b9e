package isolation

import (
	"path/filepath"
	"reflect"
	"testing"

	"assay/history"
	"assay/internal/expect"
	"assay/load"
	"assay/store"
	"assay/workload/definition"
)

func mustWork(t *testing.T, db *fake, c Config) definition.Work {
	t.Helper()
	w, err := c.Open(t.Context(), db, 7, 1)
	expect.NoError(t, err)
	return w
}

func mustClient(t *testing.T, db *fake, c Config, number int) load.Client {
	t.Helper()
	made, err := mustWork(t, db, c).Client(t.Context(), number)
	expect.NoError(t, err)
	t.Cleanup(made.Close)
	return made
}

// withoutResults are the operations as they were asked for.
func withoutResults(ops []Op) (asked []Op) {
	for _, o := range ops {
		a := Op{Kind: o.Kind, Key: o.Key}
		if !o.Kind.reads() {
			a.Value = o.Value
		}
		asked = append(asked, a)
	}
	return asked
}

func TestClientDoesItsOwnTransactions(t *testing.T) {
	db, c := newFake(t), configured("all", nil)
	made := NewTransactions(c, 7)
	client := mustClient(t, db, c, 3)
	kinds := map[uint8]bool{}
	for seq := range uint64(60) {
		for attempt := 1; attempt <= 2; attempt++ {
			answer := client.Attempt(t.Context(), seq, attempt)
			want := mustAt(t, made, 3, seq, attempt)
			ops, results, err := Decode(answer.Values, nil)
			if err != nil || !results || !reflect.DeepEqual(withoutResults(ops), withoutResults(want)) || answer.Kind != kindOf(want) || answer.Outcome != history.Committed {
				t.Errorf("operation %d answered %+v: %+v, want %+v; %v, %v", seq, answer, ops, want, results, err)
			}
			kinds[answer.Kind] = true
		}
	}
	if len(db.sessions) != 1 || db.sessions[0].asked != 120 || len(kinds) != 4 {
		t.Errorf("%d sessions, kinds %v", len(db.sessions), kinds)
	}
}

// TestClientReplacesItsSession gives one reply, and then asks which session
// the next attempt used.
func TestClientReplacesItsSession(t *testing.T) {
	tests := []struct {
		name     string
		reply    store.Reply
		replaced bool
		want     history.Outcome
	}{
		{"committed", store.Reply{Outcome: history.Committed}, false, history.Committed},
		{"committed, then lost", store.Reply{Outcome: history.Committed, Broken: true}, true, history.Committed},
		{"failed", store.Reply{Outcome: history.Failed, Class: "deadlock"}, false, history.Failed},
		{"failed and broken", store.Reply{Outcome: history.Failed, Broken: true, Class: "connection lost"}, true, history.Failed},
		{"unknown", store.Reply{Class: "timeout"}, true, history.Unknown},
		{"rejected, which no driver may say", store.Reply{Outcome: history.Rejected, Class: "no funds"}, true, history.Unknown},
	}
	for _, x := range tests {
		db := newFake(t)
		db.reply = &x.reply
		client := mustClient(t, db, Defaults(), 0)
		answer := client.Attempt(t.Context(), 0, 1)
		if answer.Outcome != x.want || answer.Class != x.reply.Class || answer.Disconnected != x.reply.Broken && x.want != history.Unknown {
			t.Errorf("%s: %+v", x.name, answer)
		}
		_, results, err := Decode(answer.Values, nil)
		if err != nil || results && x.want != history.Committed {
			t.Errorf("%s: recorded %v: results %v, %v", x.name, answer.Values, results, err)
		}
		client.Attempt(t.Context(), 1, 1)
		if replaced := len(db.sessions) == 2; replaced != x.replaced || replaced && db.sessions[0].closed != 1 {
			t.Errorf("%s: replaced %v, closed %d times", x.name, replaced, db.sessions[0].closed)
		}
	}
}

// TestClientSaysWhatItCannotRecord: an acknowledged transaction whose results
// are lost is unknown, not committed with less.
func TestClientSaysWhatItCannotRecord(t *testing.T) {
	db := newFake(t)
	writer, err := db.Database.Session(t.Context(), statements())
	expect.NoError(t, err)
	defer writer.Close()
	long := store.OfList(make([]int64, history.MaxValues))
	for key := int64(0); key < 32; key += 2 { // of two windows
		if r := writer.Run(t.Context(), store.Call{Statement: rewriteList, Parameters: []store.Value{store.OfInt(key), long}}); r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	client := mustClient(t, db, Defaults(), 0)
	tooLong := 0
	for seq := range uint64(30) {
		answer := client.Attempt(t.Context(), seq, 1)
		ops, results, err := Decode(answer.Values, nil)
		expect.NoError(t, err)
		read := false
		for _, o := range ops {
			read = read || o.Kind == ReadList
		}
		want := load.Answer{Kind: KindAppend, Outcome: history.Committed}
		if read {
			want = load.Answer{Kind: KindAppend, Outcome: history.Unknown, Class: ClassTooLong}
			tooLong++
		}
		want.Values = answer.Values
		if !reflect.DeepEqual(answer, want) || results == read {
			t.Errorf("operation %d: %+v, want %+v; results %v", seq, answer, want, results)
		}
	}
	if tooLong == 0 || len(db.sessions) != 1 {
		t.Errorf("%d too long, %d sessions; the session was not at fault", tooLong, len(db.sessions))
	}
}

func TestClientBeyondTheLastNumber(t *testing.T) {
	db := newFake(t)
	client := mustClient(t, db, Defaults(), 0)
	answer := client.Attempt(t.Context(), MaxSeq+1, 1)
	if answer.Outcome != history.Failed || answer.Class != store.ClassBeyond || db.sessions[0].asked != 0 {
		t.Errorf("%+v, asked %v", answer, db.sessions[0].asked)
	}
}

func TestWork(t *testing.T) {
	db := newFake(t)
	w := mustWork(t, db, Defaults())
	expect.NoError(t, w.Create(t.Context(), store.Marker{Run: "r"}))
	if !db.created.Loaded || db.created.Run != "r" {
		t.Errorf("created under %+v; there is nothing to load", db.created)
	}
	if err := w.Load(t.Context(), nil); err != nil || w.Rows() != 0 {
		t.Errorf("%d rows, %v", w.Rows(), err)
	}
	folder := t.TempDir()
	expect.NoError(t, w.Save(t.Context(), folder, func(int64) {}))
	if err := Replay(filepath.Join(folder, FileState), nil, nil); err != nil {
		t.Error(err)
	}
}
