package drivertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"assay/history"
	"assay/store"
)

// verbatims is nil if the database has no SQL.
func (f *fixture) verbatims() store.Verbatims {
	f.t.Helper()
	if f.documents() {
		f.t.Logf("left out for want of %s: %s", store.SQL, f.lacks[store.SQL])
		return nil
	}
	of, is := store.As[store.Verbatims](f.store)
	if !is {
		f.t.Fatal("a database that speaks SQL does not send texts as they are written")
	}
	return of
}

func plainText(kind store.TextKind, text string) store.UserText {
	return store.UserText{Text: text, Protocol: store.Simple, Kind: kind, Keep: true}
}

func beginText() store.UserText    { return plainText(store.Begins, "BEGIN") }
func commitText() store.UserText   { return plainText(store.Commits, "COMMIT") }
func rollbackText() store.UserText { return plainText(store.RollsBack, "ROLLBACK") }
func wrongText() store.UserText {
	return plainText(store.Writes, "INSERT INTO record (missing) VALUES (1)")
}

func insertText(id int64) store.UserText {
	return plainText(store.Writes, fmt.Sprintf("INSERT INTO record (id, content) VALUES (%d, 'x')", id))
}

func do(session store.Session, ctx context.Context, texts ...store.UserText) (all []store.Result, reply store.Reply) {
	reply = session.(store.Verbatim).Verbatim(ctx, true, func(ctx context.Context, s store.Sender) error {
		for _, text := range texts {
			results, err := s.Send(ctx, text)
			if err != nil {
				return err
			}
			all = append(all, results...)
		}
		return nil
	})
	return all, reply
}

func (f *fixture) wrote(outcome history.Outcome, ids ...int64) {
	for _, id := range ids {
		f.ledger.record(sentWrite{entry: entry{ID: id}, content: "x", outcome: outcome})
	}
}

// testVerbatimOutcomes: an operation is committed as a whole, failed with proof of no effect, or
// partly done; the session stays usable.
func (f *fixture) testVerbatimOutcomes() {
	if f.verbatims() == nil {
		return
	}
	session := f.session(f.store)
	query := plainText(store.NoEffect, "SELECT id FROM record WHERE id = 1")
	opened, partly := new(store.OpenError), store.ClassPartly
	for name, c := range map[string]struct {
		texts []store.UserText
		want  history.Outcome
		class string
		ids   []int64 // that are there
		lost  []int64 // that are not
		alone bool    // what is wrong stands outside of a transaction: see Store.Unproven
	}{
		"alone":                 {[]store.UserText{insertText(101)}, history.Committed, "", []int64{101}, nil, false},
		"several":               {[]store.UserText{insertText(111), query, insertText(112)}, history.Committed, "", []int64{111, 112}, nil, false},
		"together":              {[]store.UserText{beginText(), insertText(121), insertText(122), commitText()}, history.Committed, "", []int64{121, 122}, nil, false},
		"rolled back":           {[]store.UserText{beginText(), insertText(131), rollbackText()}, history.Committed, "", nil, []int64{131}, false},
		"wrong alone":           {[]store.UserText{query, wrongText()}, history.Failed, store.ClassOther, nil, nil, true},
		"wrong together":        {[]store.UserText{query, beginText(), insertText(141), wrongText(), commitText()}, history.Failed, store.ClassOther, nil, []int64{141}, false},
		"a key that is there":   {[]store.UserText{beginText(), insertText(151), insertText(1)}, history.Failed, "", nil, []int64{151}, false},
		"partly":                {[]store.UserText{insertText(161), wrongText()}, history.Unknown, partly, []int64{161}, nil, true},
		"partly, in two":        {[]store.UserText{beginText(), insertText(171), commitText(), beginText(), insertText(172), wrongText()}, history.Unknown, partly, []int64{171}, []int64{172}, false},
		"after a rollback":      {[]store.UserText{beginText(), insertText(181), rollbackText(), wrongText()}, history.Failed, store.ClassOther, nil, []int64{181}, true},
		"open at the end":       {[]store.UserText{beginText(), insertText(191)}, history.Failed, store.ClassOther, nil, []int64{191}, false},
		"of reads, and a wrong": {[]store.UserText{query, plainText(store.NoEffect, "SELECT missing FROM record")}, history.Failed, store.ClassOther, nil, nil, false},
	} {
		if strings.HasPrefix(name, "partly") || session == nil {
			session = f.session(f.store)
		}
		_, r := do(session, f.ctx, c.texts...)
		if f.suite.Unproven && c.alone {
			if r.Outcome != history.Unknown || !r.Broken {
				f.t.Errorf("%s: %+v; want unknown", name, r)
			}
			session.Close()
			session = nil
		} else if r.Outcome != c.want || c.class != "" && r.Class != c.class || (r.Err == nil) != (c.want == history.Committed) || r.Broken {
			f.t.Errorf("%s: %+v; want %v, %q, and a session that is good", name, r, c.want, c.class)
		}
		if name == "open at the end" && !errors.As(r.Err, &opened) {
			f.t.Errorf("%s: %v; want *store.OpenError", name, r.Err)
		}
		if name == "a key that is there" && r.Violated != store.Unique {
			f.t.Errorf("%s: violated %d", name, r.Violated)
		}
		if r.Err != nil {
			f.wantNoSecret("the reply", r.Err.Error())
		}
		f.wrote(history.Committed, c.ids...)
		f.wrote(history.Failed, c.lost...)
	}
}

// testVerbatimAnswers: answers are in the database's own form, by each protocol. Placeholders
// inside of quotes are no parameters, and the status follows transactions.
func (f *fixture) testVerbatimAnswers() {
	of := f.verbatims()
	if of == nil {
		return
	}
	session := f.session(f.store)
	for n, by := range []store.Protocol{store.Simple, store.Extended, store.Prepared, store.Prepared} {
		if reason := of.Refuses(by); reason != "" {
			f.t.Logf("%s: %s", by, reason)
			continue
		}
		id := fmt.Sprint(200 + n)
		content, number := "it's", "1"
		insert := store.UserText{Text: "INSERT INTO record (id, content) VALUES ($1, $2)", At: []int{41, 45}, Parameters: []*string{&id, &content}, Protocol: by, Kind: store.Writes}
		query := store.UserText{Text: "SELECT id AS a, content AS b, '$2' AS c FROM record WHERE id BETWEEN 200 AND 299 OR id = $1 ORDER BY id", Parameters: []*string{&number}, Protocol: by, Kind: store.NoEffect, Keep: true}
		query.At = []int{strings.Index(query.Text, "$1")}
		if by == store.Simple {
			insert = plainText(store.Writes, "INSERT INTO record (id, content) VALUES ("+id+", 'it''s')")
			insert.Keep = false
			query = plainText(store.NoEffect, "SELECT id AS a, content AS b, '$2' AS c FROM record WHERE id BETWEEN 200 AND 299 OR id = 1 ORDER BY id")
		}
		all, r := do(session, f.ctx, insert, query)
		if r.Outcome != history.Committed || len(all) != 2 {
			f.t.Fatalf("%s: %+v, %d results", by, r, len(all))
		}
		last := all[1].Last
		if all[0].Rows != 1 || all[1].Rows < 2 || strings.Join(all[1].Columns, " ") != "a b c" || len(last) != 3 || *last[0] != id || *last[1] != "it's" || *last[2] != "$2" {
			f.t.Errorf("%s: %+v", by, all)
		}
		f.ledger.record(sentWrite{entry: entry{ID: int64(200 + n)}, content: "it's", outcome: history.Committed})
	}
	null, r := do(session, f.ctx, plainText(store.NoEffect, "SELECT NULL AS missing, id FROM record WHERE id = 0"), plainText(store.NoEffect, "SELECT NULL AS missing"))
	if r.Outcome != history.Committed || null[0].Rows != 0 || null[0].Last != nil || null[1].Last[0] != nil {
		f.t.Errorf("NULL: %+v, %+v", r, null)
	}
	r = session.(store.Verbatim).Verbatim(f.ctx, true, func(ctx context.Context, s store.Sender) error {
		for i, text := range []store.UserText{beginText(), insertText(220), rollbackText()} {
			if s.Status() != []store.Status{store.Idle, store.Open, store.Open}[i] {
				f.t.Errorf("before %q the status is %d", text.Text, s.Status())
			}
			if _, err := s.Send(ctx, text); err != nil {
				return err
			}
		}
		if s.Status() != store.Idle {
			f.t.Errorf("in the end the status is %d", s.Status())
		}
		return nil
	})
	if r.Outcome != history.Committed {
		f.t.Errorf("%+v", r)
	}
	f.wrote(history.Failed, 220)
}

// testVerbatimPipeline: a pipeline outside of a transaction is a transaction, and inside a part
// of it. A failed pipeline has no effect, and the session stays usable.
func (f *fixture) testVerbatimPipeline() {
	of := f.verbatims()
	if of == nil {
		return
	}
	extended := func(text store.UserText) store.UserText {
		text.Protocol = store.Prepared
		return text
	}
	send := func(session store.Session, texts ...store.UserText) (results int, r store.Reply) {
		r = session.(store.Verbatim).Verbatim(f.ctx, true, func(ctx context.Context, s store.Sender) error {
			all, err := s.Send(ctx, texts...)
			results = len(all)
			return err
		})
		return results, r
	}
	session := f.session(f.store)
	if reason := of.Refuses(store.Pipeline); reason != "" {
		if _, r := send(session, insertText(301), insertText(302)); r.Outcome != history.Failed || !strings.Contains(r.Err.Error(), reason) {
			f.t.Errorf("%+v; want it refused: %s", r, reason)
		}
		return
	}
	results, r := send(session, extended(insertText(301)), extended(plainText(store.NoEffect, "SELECT 1")), extended(insertText(302)))
	if r.Outcome != history.Committed || results != 3 {
		f.t.Errorf("%+v, %d results", r, results)
	}
	for _, texts := range [][]store.UserText{{insertText(303), insertText(1), insertText(304)}, {beginText(), insertText(303), wrongText(), commitText()}} {
		for i := range texts {
			texts[i] = extended(texts[i])
		}
		if _, r = send(session, texts...); r.Outcome != history.Failed || r.Broken {
			f.t.Errorf("%+v; want failed", r)
		}
	}
	if _, r = send(session, extended(beginText()), extended(insertText(305)), extended(commitText())); r.Outcome != history.Committed {
		f.t.Errorf("%+v; want committed", r)
	}
	f.wrote(history.Committed, 301, 302, 305)
	f.wrote(history.Failed, 303, 304)
}

// testVerbatimCut: a connection lost before COMMIT was sent proves no effect; later it proves
// nothing.
func (n *network) testVerbatimCut() {
	if n.verbatims() == nil {
		return
	}
	id := int64(400)
	for _, deliver := range []bool{false, true} {
		for _, c := range []struct {
			marker string
			texts  func() []store.UserText
			want   history.Outcome
		}{
			{"select 7", func() []store.UserText {
				return []store.UserText{beginText(), insertText(id), plainText(store.NoEffect, "SELECT 7"), commitText()}
			}, history.Failed},
			{"commit", func() []store.UserText { return []store.UserText{beginText(), insertText(id), commitText()} }, history.Unknown},
			{"insert into", func() []store.UserText { return []store.UserText{insertText(id)} }, history.Unknown},
			{"select 8", func() []store.UserText {
				return []store.UserText{insertText(id), plainText(store.NoEffect, "SELECT 8")}
			}, history.Unknown},
			{"commit", func() []store.UserText {
				return []store.UserText{beginText(), plainText(store.NoEffect, "SELECT 9"), commitText()}
			}, history.Failed},
		} {
			id++
			session := n.session(n.via)
			seen := n.proxy.Arm([]byte(c.marker), deliver)
			ctx, cancel := context.WithTimeout(n.ctx, time.Minute)
			_, r := do(session, ctx, c.texts()...)
			cancel()
			<-seen
			if r.Outcome != c.want || !r.Broken && r.Outcome == history.Unknown {
				n.t.Errorf("cut at %q, delivered %v: %+v; want %v", c.marker, deliver, r, c.want)
			}
			if c.marker != "commit" || len(c.texts()) == 3 && c.want == history.Unknown {
				n.wrote(r.Outcome, id)
			}
			session.Close()
			n.proxy.Pass()
		}
	}
	n.recover(n.warm(3), 4)
}
