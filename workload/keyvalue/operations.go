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

// status is one record's: the outcome of its insert in the lower two bits, and flags.
type status uint8

const (
	outcomeBits status = 3
	// insertBit: the operation was an insert and not a read.
	insertBit status = 4
	// thereBit: the record was read back.
	thereBit status = 8
	// alteredBit: the record read back differs from the insert.
	alteredBit status = 16
)

func (s status) outcome() history.Outcome { return history.Outcome(s & outcomeBits) }
func (s status) there() bool              { return s&thereBit != 0 }
func (s status) acknowledged() bool       { return s&insertBit != 0 && s.outcome() == history.Committed }

// noEffect reports whether the insert certainly left no record.
func (s status) noEffect() bool {
	return s.outcome() == history.Failed || s.outcome() == history.Rejected
}

type clientOperations struct {
	// records is by operation, or by attempt (Preset.PerAttempt).
	records []status
	// starts are begins in milliseconds since the run's start (Preset.Starts), for 49 days.
	starts []uint32
	// several are the operations with several records, in order.
	several []several
	Progress
	// reads is true if this client only reads (Preset.ReadersApart).
	reads bool
}

// several is an operation with several records; extra sums the further ones up to it.
type several struct {
	seq   uint64
	extra int
}

// operations has the outcome of each insert of a run: a byte per operation, four more with
// Preset.Starts, and 16 per operation with several records.
type operations struct {
	preset  *Preset
	clients map[int]*clientOperations
	// unrecorded are records read back whose insert a cut history lacks.
	unrecorded map[int64]bool
	// whole is true if the history was closed in order. Then each client can have begun at most
	// one operation without a record of it.
	whole bool
}

// newOperations enters the loaded records, all acknowledged.
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

// enter enters an attempt. A client's attempts come in order.
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

// close makes an operation unknown that may have been tried again without a record.
func (o *operations) close(whole bool) {
	o.whole = whole
	for _, c := range o.clients {
		if at := len(c.records) - 1; c.open && !o.preset.PerAttempt && c.records[at]&insertBit != 0 {
			c.records[at] = insertBit | status(c.records[at].outcome().Then(history.Unknown))
		}
	}
}

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

// span returns the range of an operation's records.
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

type provenance int

const (
	// foreign: no attempt of this run can have inserted the record.
	foreign provenance = iota
	// recorded: the history has its insert.
	recorded
	// unrecorded: its insert may have begun without a record in the history.
	unrecorded
)

// find looks a record up; c and at are its place if it is recorded.
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

func (o *operations) there(number int64) bool {
	from, c, at := o.find(number)
	return from == recorded && c.records[at].there() || from == unrecorded && o.unrecorded[number]
}

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

func (p *Preset) digestWords() int {
	if p.Hashed {
		return 2
	}
	return 1
}

// Save saves all records of the database; see definition.RowFile.Save.
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

// Replay gives the records that Save wrote; see definition.RowFile.Replay.
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

func (p *Preset) numbered(number int64) bool {
	_, _, _, ok := p.Split(number)
	return ok
}
