package ycsb

import (
	"context"
	"time"

	"assay/history"
	"assay/load"
	"assay/store"
	"assay/workload"
	"assay/workload/keyvalue"
)

// client is one client. It is used by one goroutine.
type client struct {
	store.Connection[store.Session]
	work    *work
	number  int
	shares  mix
	chooser chooser

	// Of the operation that is going on, for its next attempts.
	kind   uint8
	record int64
	length int
	// unsure is true if an earlier attempt to insert is unknown.
	unsure bool
	values []int64
}

// Attempt implements load.Client. What an operation does is a function of the seed,
// the client and the operation's number, and of how many records there are by then.
func (c *client) Attempt(ctx context.Context, seq uint64, attempt int) load.Answer {
	if attempt == 1 {
		c.choose(seq)
	}
	v, ok := versionOf(c.number, seq, attempt)
	if !ok {
		return load.Answer{Kind: c.kind, Outcome: history.Failed, Class: store.ClassBeyond}
	}
	began := time.Now()
	session, err := c.Session(ctx)
	if err != nil {
		reply := store.Unsent(err)
		answer := reply.Answer(c.kind)
		answer.Values = c.put(c.record)
		return answer
	}
	switch c.kind {
	case KindInsert:
		return c.insert(ctx, session, v, attempt)
	case KindRead:
		return c.read(ctx, session)
	case KindUpdate:
		return c.update(ctx, session, v)
	case KindScan:
		return c.scan(ctx, session)
	default:
		return c.readModifyWrite(ctx, session, v, began)
	}
}

// choose decides what an operation does.
func (c *client) choose(seq uint64) {
	random := workload.NewRandom(c.work.seed^workload.Mix(uint64(c.number)), seq)
	c.kind, c.unsure = c.shares.choose(&random), false
	if c.kind == KindInsert {
		c.record = c.work.sequence.take()
		return
	}
	c.record = c.work.sequence.number(c.chooser.choose(&random, c.work.sequence.records()))
	c.length = 1 + int(random.Below(uint64(c.work.config.ScanLength)))
}

// put makes the values of an answer, which are good until the next call.
func (c *client) put(values ...int64) []int64 {
	c.values = append(c.values[:0], values...)
	return c.values
}

func (c *client) key() int64 { return c.work.keys.of(c.record) }

// get reads the record; v is its version, or absent.
func (c *client) get(ctx context.Context, session store.Session) (v version, reply store.Reply) {
	asked := c.key()
	found := new(version) // of this call alone: one that was given up may go on
	*found = absent
	reply = session.Run(ctx, store.Call{Statement: keyvalue.Get, Parameters: store.OfInts(asked), Row: func(row store.Row) error {
		key, v, err := c.work.contents.scan(row)
		if key != asked {
			v = garbled
		}
		*found = v
		return err
	}})
	if reply.Outcome != history.Committed {
		return absent, reply
	}
	return *found, reply
}

func (c *client) read(ctx context.Context, session store.Session) load.Answer {
	v, reply := c.get(ctx, session)
	c.After(reply.Outcome, reply.Broken)
	answer := unanswered(KindRead, reply, c.put(c.record))
	if answer.Outcome == history.Committed {
		answer.Values = c.put(c.record, int64(v))
	}
	return answer
}

func (c *client) insert(ctx context.Context, session store.Session, v version, attempt int) load.Answer {
	reply := session.Run(ctx, store.Call{Statement: keyvalue.Insert, Parameters: c.work.contents.record(c.key(), v)}).Inserted()
	reply.Outcome = reply.Unrefused()
	answer := reply.Answer(KindInsert)
	answer.Values = c.put(c.record)
	c.unsure = reply.Repeated(&answer, attempt, c.unsure)
	c.After(answer.Outcome, reply.Broken)
	c.work.sequence.end(c.record)
	return answer
}

// update replaces all fields. Where keys are not told apart a record that is not there is
// made.
func (c *client) update(ctx context.Context, session store.Session, v version) load.Answer {
	reply := session.Run(ctx, store.Call{Statement: updateRecord, Parameters: c.work.contents.record(c.key(), v)})
	c.After(reply.Outcome, reply.Broken)
	answer := reply.Answer(KindUpdate)
	answer.Values = c.put(c.record)
	if answer.Outcome == history.Committed && reply.Affected == 0 && !c.work.replaces {
		answer.Values = c.put(c.record, int64(absent))
	}
	return answer
}

// readModifyWrite reads and then writes all fields, which is not atomic, as YCSB does:
// what others write in between is overwritten.
func (c *client) readModifyWrite(ctx context.Context, session store.Session, v version, began time.Time) load.Answer {
	found, reply := c.get(ctx, session)
	read := time.Now()
	if reply.Outcome != history.Committed || found == absent {
		c.After(reply.Outcome, reply.Broken)
		answer := unanswered(KindReadModifyWrite, reply, c.put(c.record))
		if answer.Outcome == history.Committed {
			answer.Values = c.put(c.record, int64(absent))
		}
		return answer
	}
	answer := c.update(ctx, session, v)
	answer.Kind = KindReadModifyWrite
	if len(answer.Values) == 2 { // the record has gone
		answer.Values = c.put(c.record, int64(absent))
		return answer
	}
	answer.Values = c.put(c.record, int64(found), int64(read.Sub(began)), int64(time.Since(read)))
	return answer
}

func (c *client) scan(ctx context.Context, session store.Session) load.Answer {
	found := new([]int64) // as in get
	reply := session.Run(ctx, store.Call{Statement: scanRecords, Parameters: store.OfInts(c.key(), int64(c.length)), Row: func(row store.Row) error {
		key, v, err := c.work.contents.scan(row)
		switch number := c.work.keys.number(key); {
		case len(*found) >= history.MaxValues-4: // many more than were asked for
		case number >= 0:
			*found = append(*found, number, int64(v))
		default:
			*found = append(*found, -1, key)
		}
		return err
	}})
	c.After(reply.Outcome, reply.Broken)
	answer := unanswered(KindScan, reply, c.put(c.record, int64(c.length)))
	if answer.Outcome == history.Committed {
		c.values = append(c.values, *found...)
		answer.Values = c.values
	}
	return answer
}
