package keyvalue

import (
	"context"
	"fmt"
	"math"
	"sort"

	"assay/history"
	"assay/store"
	"assay/workload/definition"
)

// status is what is known of one record: in the lower two bits what its insert
// ended as.
type status uint8

const (
	outcomeBits status = 3
	// insertBit: it was inserted; without it the operation was a read.
	insertBit status = 4
	// thereBit: it was read back.
	thereBit status = 8
	// alteredBit: what was read back is not what was inserted.
	alteredBit status = 16
)

func (s status) outcome() history.Outcome { return history.Outcome(s & outcomeBits) }
func (s status) there() bool              { return s&thereBit != 0 }
func (s status) acknowledged() bool       { return s&insertBit != 0 && s.outcome() == history.Committed }

// noEffect reports whether the insert has certainly left no record.
func (s status) noEffect() bool {
	return s.outcome() == history.Failed || s.outcome() == history.Rejected
}

// clientOperations is what one client did, in the order of operations and
// attempts.
type clientOperations struct {
	// records has one of each operation, or one of each attempt
	// (Preset.PerAttempt).
	records []status
	// starts is when each record's first attempt began, in whole milliseconds
	// since the start of the run, which does for 49 days (Preset.Starts).
	starts []uint32
	// several are the operations with more than one record.
	several []several
	Progress
	// reads is true if this client only reads, so that its numbers make no
	// records (Preset.ReadersApart).
	reads bool
}

// several is an operation with more than one record, and how many records beyond
// one each there are up to and with it.
type several struct {
	seq   uint64
	extra int
}

// operations is what became of the inserts of all clients of a run. It keeps a
// byte for each operation, four more where Preset.Starts is set, and sixteen for
// each operation that has several records.
type operations struct {
	preset  *Preset
	clients map[int]*clientOperations
	// unrecorded are records that may be there although the history has no
	// record of their insert, which was cut off. There are at most as many as
	// were reserved.
	unrecorded map[int64]bool
	// whole is true if the history was closed in order: then at most the
	// operation that each client was in has no record.
	whole bool
}

// newOperations knows what was there before the run, all of it acknowledged.
func newOperations(p *Preset) *operations {
	o := &operations{preset: p, clients: map[int]*clientOperations{}, unrecorded: map[int64]bool{}}
	if p.Loaded > 0 {
		loaded := &clientOperations{records: make([]status, p.Loaded), Progress: Progress{Count: uint64(p.Loaded)}}
		for i := range loaded.records {
			loaded.records[i] = insertBit | status(history.Committed)
		}
		o.clients[p.Loader] = loaded
	}
	return o
}

func (o *operations) client(n int) *clientOperations {
	c := o.clients[n]
	if c == nil {
		c = &clientOperations{}
		o.clients[n] = c
	}
	return c
}

// enter enters one attempt. Those of one client come in their order.
func (o *operations) enter(op *history.Op) error {
	c := o.client(op.Client)
	insert := op.Kind == KindInsert
	if o.preset.ReadersApart {
		if insert && c.reads || !insert && c.Count > 0 {
			return fmt.Errorf("client %d both inserts and reads", op.Client)
		}
		if c.reads = !insert; c.reads {
			return nil
		}
	}
	if err := c.Enter(op); err != nil {
		return err
	}
	if op.Client > o.preset.MaxClient {
		return fmt.Errorf("client %d cannot have inserted anything", op.Client)
	}
	if op.Attempt == 1 || o.preset.PerAttempt {
		c.records = append(c.records, 0)
		if o.preset.Starts {
			c.starts = append(c.starts, uint32(min(max(op.Start, 0)/1e6, math.MaxUint32)))
		}
		if op.Attempt > 1 {
			c.another(op.Seq)
		}
	}
	if !insert {
		return nil
	}
	outcome, last := op.Outcome, &c.records[len(c.records)-1]
	if !o.preset.PerAttempt {
		if op.Last && op.Final == history.Committed {
			outcome = history.Committed // an attempt before it was, as a duplicate has shown
		}
		if op.Attempt > 1 {
			outcome = last.outcome().Then(outcome)
		}
	}
	*last = insertBit | status(outcome)
	return nil
}

// close says that there are no more attempts: whoever was to make another and
// has no record of it may have made it.
func (o *operations) close(whole bool) {
	o.whole = whole
	for _, c := range o.clients {
		if at := len(c.records) - 1; c.open && !o.preset.PerAttempt && c.records[at]&insertBit != 0 {
			c.records[at] = insertBit | status(c.records[at].outcome().Then(history.Unknown))
		}
	}
}

// another notes that an operation has one record more.
func (c *clientOperations) another(seq uint64) {
	extra := 0
	if n := len(c.several); n > 0 {
		extra = c.several[n-1].extra
		if c.several[n-1].seq == seq {
			c.several[n-1].extra++
			return
		}
	}
	c.several = append(c.several, several{seq, extra + 1})
}

// span returns where the records of an operation are.
func (c *clientOperations) span(seq uint64) (first, end int) {
	i := sort.Search(len(c.several), func(i int) bool { return c.several[i].seq >= seq })
	before := 0
	if i > 0 {
		before = c.several[i-1].extra
	}
	first = int(seq) + before
	end = first + 1
	if i < len(c.several) && c.several[i].seq == seq {
		end += c.several[i].extra - before
	}
	return first, end
}

// provenance is what the history knows of a record.
type provenance int

const (
	// foreign: no attempt of this run can have inserted the record.
	foreign provenance = iota
	// recorded: the history has its insert.
	recorded
	// unrecorded: its insert may have begun and has no record.
	unrecorded
)

// find looks a record up; c and at say where it is, if it is recorded.
func (o *operations) find(number int64) (from provenance, c *clientOperations, at int) {
	client, seq, attempt, ok := o.preset.Split(number)
	if c = o.clients[client]; !ok || c == nil || c.reads || (attempt != 0) != o.preset.PerAttempt {
		return foreign, nil, 0
	}
	if seq < c.Count {
		first, end := c.span(seq)
		if at := first + max(attempt-1, 0); at < end && c.records[at]&insertBit != 0 {
			return recorded, c, at
		}
	}
	if c.Unrecorded(seq, attempt, o.whole, o.preset.Repeats) {
		return unrecorded, nil, 0
	}
	return foreign, nil, 0
}

// there reports whether the record of this number was read back.
func (o *operations) there(number int64) bool {
	from, c, at := o.find(number)
	return from == recorded && c.records[at].there() || from == unrecorded && o.unrecorded[number]
}

// The kinds of rows of the file in which the records after the run are kept.
const (
	recordRow     = iota // number, digest
	unnumberedRow        // Observed.Key; there is no such kind without Preset.Unnumbered
)

func (p *Preset) stateRows() definition.RowFile {
	f := definition.RowFile{Magic: p.Magic, First: 1, Columns: []int{1 + p.digestWords()}, End: 2}
	if p.Unnumbered {
		f.Columns, f.End = append(f.Columns, len(Digest{})), 3
	}
	return f
}

// digestWords is how many words a digest has.
func (p *Preset) digestWords() int {
	if p.Hashed {
		return 2
	}
	return 1
}

// Save reads all records of the database into a file; see definition.RowFile.Save.
func Save(ctx context.Context, db store.Database, p *Preset, path string, read func(rows int64)) error {
	return p.stateRows().Save(path, read, func(w *definition.RowWriter) error {
		return Read(ctx, db, p.Schema, func(row store.Row) error {
			got, err := p.Observe(row)
			if err != nil {
				return err
			}
			if p.Unnumbered && got.Number < 0 {
				return w.Put(unnumberedRow, got.Key[:]...)
			}
			values := [...]int64{got.Number, got.Digest[0], got.Digest[1]}
			return w.Put(recordRow, values[:1+p.digestWords()]...)
		})
	})
}

// Replay reads what Save wrote, in its order; see definition.RowFile.Replay.
func Replay(path string, p *Preset, use func(Observed) error) error {
	return p.stateRows().Replay(path, func(kind int, v []int64) error {
		if kind == unnumberedRow {
			return use(Observed{Number: Impossible, Key: Digest{v[0], v[1]}})
		}
		if p.Unnumbered && !p.numbered(v[0]) {
			return &history.FormatError{Path: path, Reason: "a " + p.Words.One + " with a number that none can have"}
		}
		got := Observed{Number: v[0]}
		copy(got.Digest[:], v[1:])
		return use(got)
	})
}

// numbered reports whether a client can have the number.
func (p *Preset) numbered(number int64) bool {
	_, _, _, ok := p.Split(number)
	return ok
}
