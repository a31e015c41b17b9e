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

// client is not safe for concurrent use.
type client struct {
	store.Connection[store.Session]
	work    *work
	number  int
	chooser chooser

	// The current operation, for its next attempts.
	kind   uint8
	record int64
	length int
	// reads and writes are fields, or everyField.
	reads, writes int
	// unsure is true if an earlier attempt of an insert ended unknown.
	unsure bool
	values []int64
}

// Seed, client, operation number and the number of records decide what an operation does.
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
		answer.Values = c.unsent()
		return answer
	}
	switch c.kind {
	case KindInsert:
		return c.insert(ctx, session, v, attempt)
	case KindRead:
		return c.read(ctx, session)
	case KindUpdate:
		answer, _ := c.update(ctx, session, v)
		return answer
	case KindScan:
		return c.scan(ctx, session)
	default:
		return c.readModifyWrite(ctx, session, v, began)
	}
}

func (c *client) unsent() []int64 {
	switch c.kind {
	case KindInsert:
		return c.put(c.record)
	case KindUpdate:
		return c.recordAndFields(c.writes)
	case KindReadModifyWrite:
		return c.recordAndFields(c.reads, c.writes)
	case KindScan:
		if c.put(c.record); c.work.core.units() > 1 {
			c.values = append(c.values, int64(c.length), int64(c.reads))
		}
		return c.values
	}
	return c.recordAndFields(c.reads)
}

func (c *client) choose(seq uint64) {
	random := workload.NewRandom(c.work.seed^workload.Mix(uint64(c.number)), seq)
	of := &c.work.core
	c.kind, c.unsure = of.shares.choose(&random), false
	c.reads, c.writes = everyField, everyField
	if c.kind == KindInsert {
		c.record = c.work.sequence.take()
		return
	}
	c.record = c.work.sequence.number(c.chooser.choose(&random, c.work.sequence.records()))
	c.length = of.scans.draw(&random)
	if !of.readAll {
		c.reads = int(random.Below(uint64(of.fields)))
	}
	if !of.writeAll {
		c.writes = int(random.Below(uint64(of.fields)))
	}
}

// put makes the values of an answer; the next call overwrites them.
func (c *client) put(values ...int64) []int64 {
	c.values = append(c.values[:0], values...)
	return c.values
}

func (c *client) key() int64 { return c.work.keys.keyOf(c.record) }

// recordAndFields begins the values: the record and, if they have versions, these fields.
func (c *client) recordAndFields(fields ...int) []int64 {
	c.put(c.record)
	if c.work.core.units() > 1 {
		for _, f := range fields {
			c.values = append(c.values, int64(f))
		}
	}
	return c.values
}

func (c *client) with(found ...version) []int64 {
	for _, v := range found {
		c.values = append(c.values, int64(v))
	}
	return c.values
}

// get returns the versions of the record's units, or absent.
func (c *client) get(ctx context.Context, session store.Session) (found []version, reply store.Reply) {
	asked := c.key()
	got := new([]version) // of this call alone: one that was given up may go on
	*got = []version{absent}
	field := c.reads
	reply = session.Run(ctx, store.Call{Statement: at(c.work.program.gets, field), Parameters: []store.Value{c.work.keys.value(asked)}, Row: func(row store.Row) error {
		key, found, err := c.work.contents.scan(row, field, nil)
		if key != asked {
			for i := range found {
				found[i] = c.work.contents.unknown()
			}
		}
		*got = found
		return err
	}})
	if reply.Outcome != history.Committed {
		return []version{absent}, reply
	}
	return *got, reply
}

func (c *client) read(ctx context.Context, session store.Session) load.Answer {
	found, reply := c.get(ctx, session)
	c.After(reply.Outcome, reply.Broken)
	answer := unanswered(KindRead, reply, c.recordAndFields(c.reads))
	if answer.Outcome == history.Committed {
		answer.Values = c.with(found...)
	}
	return answer
}

// classThere: another run's record has the key.
const classThere = "a record of the key was there before"

func (c *client) insert(ctx context.Context, session store.Session, v version, attempt int) load.Answer {
	reply := session.Run(ctx, store.Call{Statement: keyvalue.Insert, Parameters: c.work.contents.record(nil, c.key(), v, everyField)})
	if c.work.core.existing && !c.unsure && reply.Violated == store.Unique {
		reply.Class = classThere
	} else {
		reply = reply.Inserted()
	}
	reply.Outcome = reply.Unrefused()
	answer := reply.Answer(KindInsert)
	answer.Values = c.put(c.record)
	if c.unsure = reply.Repeated(&answer, attempt, c.unsure); c.work.core.existing && answer.Done {
		answer = reply.Answer(KindInsert) // the record may be another's
		answer.Outcome, answer.Values = history.Unknown, c.put(c.record)
	}
	c.After(answer.Outcome, reply.Broken)
	c.work.sequence.end(c.record)
	return answer
}

// update replaces all fields or one. missing reports an absent record, if the database can tell.
func (c *client) update(ctx context.Context, session store.Session, v version) (answer load.Answer, missing bool) {
	reply := session.Run(ctx, store.Call{Statement: at(c.work.program.updates, c.writes), Parameters: c.work.contents.record(nil, c.key(), v, c.writes)})
	c.After(reply.Outcome, reply.Broken)
	answer = reply.Answer(KindUpdate)
	answer.Values = c.recordAndFields(c.writes)
	// In MySQL, writing equal values changes no row (manual, "mysql_affected_rows()").
	if answer.Outcome == history.Committed && reply.Affected == 0 && !c.work.replaces && !c.work.core.fixed {
		answer.Values = c.with(absent)
		return answer, true
	}
	return answer, false
}

// readModifyWrite is not atomic, as in YCSB: it overwrites what others write in between.
func (c *client) readModifyWrite(ctx context.Context, session store.Session, v version, began time.Time) load.Answer {
	found, reply := c.get(ctx, session)
	read := time.Now()
	if reply.Outcome != history.Committed || found[0] == absent {
		c.After(reply.Outcome, reply.Broken)
		answer := unanswered(KindReadModifyWrite, reply, c.recordAndFields(c.reads, c.writes))
		if answer.Outcome == history.Committed {
			answer.Values = c.with(absent)
		}
		return answer
	}
	answer, missing := c.update(ctx, session, v)
	answer.Kind = KindReadModifyWrite
	c.recordAndFields(c.reads, c.writes)
	if missing { // the record has gone
		answer.Values = c.with(absent)
		return answer
	}
	c.with(found...)
	c.values = append(c.values, int64(read.Sub(began)), int64(time.Since(read)))
	answer.Values = c.values
	return answer
}

func (c *client) scan(ctx context.Context, session store.Session) load.Answer {
	found, field := new([]int64), c.reads // as in get
	var versions []version
	reply := session.Run(ctx, store.Call{Statement: at(c.work.program.scans, field), Parameters: []store.Value{c.work.keys.value(c.key()), store.OfInt(int64(c.length))}, Row: func(row store.Row) error {
		key, all, err := c.work.contents.scan(row, field, versions[:0])
		if versions = all; len(*found) >= history.MaxValues-4-2*len(all) { // many more than were asked for
			return err
		}
		number := c.work.keys.number(key)
		switch {
		case c.work.keys.texts:
			*found = append(*found, key)
		case number >= 0:
			*found = append(*found, number)
		default:
			*found = append(*found, -1, key)
			return err
		}
		for _, v := range all {
			*found = append(*found, int64(v))
		}
		return err
	}})
	c.After(reply.Outcome, reply.Broken)
	c.put(c.record, int64(c.length))
	if c.work.core.units() > 1 {
		c.values = append(c.values, int64(field))
	}
	answer := unanswered(KindScan, reply, c.values)
	if answer.Outcome == history.Committed {
		c.values = append(c.values, *found...)
		answer.Values = c.values
	}
	return answer
}
