package drivertest

import (
	"context"

	"assay/history"
	"assay/store"
)

// dialogue is a session that is led text by text.
type dialogue struct {
	*fixture
	session store.Session
}

// dialogue opens one; nil if the sessions of this target have none. Those of a server that
// speaks SQL do, unless something stands before them that knows operations alone.
func (f *fixture) dialogue() *dialogue {
	f.t.Helper()
	if f.verbatims() == nil {
		return nil
	}
	d := &dialogue{fixture: f}
	if f.suite.Server == "" {
		f.t.Log("left out: this is no server, and its sessions take operations alone")
		return nil
	}
	if d.open(); d.session == nil {
		return nil
	}
	return d
}

// open opens the session, or another one.
func (d *dialogue) open() {
	d.t.Helper()
	if d.session != nil {
		d.session.Close()
	}
	d.session = d.fixture.session(d.store)
	if _, is := d.session.(store.Dialogue); !is {
		d.t.Log("left out: the sessions of this target are not led text by text")
		d.session.Close()
		d.session = nil
	}
}

func (d *dialogue) say(ctx context.Context, text store.UserText) (rows int64, r store.Reply) {
	d.t.Helper()
	text.Keep = false
	results, r := d.session.(store.Dialogue).Say(ctx, text)
	if r.Err != nil {
		d.wantNoSecret("the reply", r.Err.Error())
	}
	if (r.Err == nil) != (r.Outcome == history.Committed) {
		d.t.Errorf("%s: %+v; an error belongs to all that is not done, and to nothing else", text.Text, r)
	}
	if len(results) > 0 {
		rows = results[len(results)-1].Rows
	}
	return rows, r
}

// done says a text that has to be done, with so many rows.
func (d *dialogue) done(text store.UserText, want int64) {
	d.t.Helper()
	if rows, r := d.say(d.ctx, text); r.Outcome != history.Committed || r.Broken || rows != want {
		d.t.Errorf("%s: %+v, %d rows; want it done with %d", text.Text, r, rows, want)
	}
}

func queryText(where string) store.UserText {
	return plainText(store.NoEffect, "SELECT id FROM record WHERE "+where)
}

// testDialogue: each text has a reply and a count of rows of its own, and a transaction is what
// its texts make of it.
func (f *fixture) testDialogue() {
	d := f.dialogue()
	if d == nil {
		return
	}
	for _, id := range []int64{501, 502, 503} {
		d.done(insertText(id), 1)
	}
	d.done(queryText("id IN (501, 502, 504)"), 2)
	d.done(queryText("id = 504"), 0)
	d.done(plainText(store.Writes, "DELETE FROM record WHERE id IN (502, 503, 504)"), 2)
	d.done(beginText(), 0)
	d.done(insertText(511), 1)
	d.done(queryText("id = 511"), 1)
	d.done(rollbackText(), 0)
	d.done(queryText("id = 511"), 0)
	d.done(beginText(), 0)
	d.done(insertText(521), 1)
	d.done(commitText(), 0)
	d.wrote(history.Committed, 501, 521)
	d.wrote(history.Failed, 502, 503, 511)
}

// testDialogueErrors: an error is one text's. Outside of a transaction the next one is done.
// Within one the database says what becomes of it: it is given up, and then nothing is done up to
// its end, which is no COMMIT; or the text alone had no effect.
func (f *fixture) testDialogueErrors() {
	d := f.dialogue()
	if d == nil {
		return
	}
	refused := func(text store.UserText) {
		d.t.Helper()
		_, r := d.say(d.ctx, text)
		if f.suite.Unproven && r.Outcome == history.Unknown && r.Broken {
			d.open()
		} else if r.Outcome != history.Failed || r.Broken {
			d.t.Errorf("%s: %+v; want it refused, and a session that is good", text.Text, r)
		}
	}
	refused(wrongText())
	refused(insertText(1))
	d.done(insertText(531), 1)
	d.wrote(history.Committed, 531)
	for id, wrong := range map[int64]store.UserText{541: wrongText(), 544: insertText(1)} {
		d.done(beginText(), 0)
		d.done(insertText(id), 1)
		if _, r := d.say(d.ctx, wrong); r.Outcome == history.Committed || r.Broken {
			d.t.Errorf("%s in a transaction: %+v; want it refused, and a session that goes on", wrong.Text, r)
		}
		_, next := d.say(d.ctx, insertText(id+1))
		_, end := d.say(d.ctx, commitText())
		if next.Broken || end.Broken || end.Outcome == history.Unknown || (next.Outcome == history.Committed) != (end.Outcome == history.Committed) {
			d.t.Errorf("behind an error: %+v, and COMMIT: %+v", next, end)
		}
		d.wrote(end.Outcome, id, id+1)
		d.done(insertText(id+2), 1)
		d.wrote(history.Committed, id+2)
	}
}

// testDialogueCancelled: a text whose context has ended is not done or nobody knows, and nothing
// is there of a transaction that is left so.
func (f *fixture) testDialogueCancelled() {
	d := f.dialogue()
	if d == nil {
		return
	}
	over, cancel := context.WithCancel(d.ctx)
	cancel()
	id := int64(550)
	for _, within := range []bool{false, true} {
		if within {
			d.done(beginText(), 0)
			d.done(insertText(id+1), 1)
		}
		_, r := d.say(over, insertText(id))
		switch {
		case r.Outcome == history.Committed:
			d.t.Errorf("in a transaction %v: %+v; want it not done", within, r)
		case within:
			d.wrote(history.Failed, id, id+1)
		default:
			d.wrote(r.Outcome, id)
		}
		d.open() // as whoever leads it does
		id += 10
	}
	d.done(insertText(id), 1)
	d.wrote(history.Committed, id)
}
