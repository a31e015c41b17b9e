package bulkupdate

import (
	"fmt"
	"math/bits"

	"assay/history"
	"assay/store"
	"assay/workload"
	"assay/workload/definition"
)

// stateRows has id, user, number, flag, generation and hash of the payload.
func stateRows() definition.RowFile {
	return definition.RowFile{Magic: "ASSAYB02", First: 1, Columns: []int{6}, End: 2}
}

type stored struct {
	id, user, number int64
	flag             bool
	generation       int64
	sum              int64
}

// save saves the documents that each gives; see definition.RowFile.Save.
func save(path string, read func(rows int64), each func(func(Document) error) error) error {
	return stateRows().Save(path, read, func(w *definition.RowWriter) error {
		return each(func(d Document) error {
			return w.Put(0, d.ID, d.User, d.Number, store.OfBool(d.Flag).Number, d.Generation, workload.Sum(d.Payload))
		})
	})
}

// mask has a bit for each generation except 0, the loaded one.
type mask uint64

func (m mask) has(generation int64) bool { return m>>uint(generation)&1 == 1 }

// highest is 0 for an empty mask.
func (m mask) highest() int64 { return int64(max(bits.Len64(uint64(m)), 1) - 1) }

// owner has the outcome of each generation's update of a user, and the documents read back.
type owner struct {
	committed, unknown, failed mask

	// right and wrong count documents of possible and impossible generations. wrongID and
	// wrongGeneration are of the first wrong one.
	right, wrong             int64
	wrongID, wrongGeneration int64
	// low and high bound the generations of right documents.
	low, high int8
}

func (o *owner) recorded() mask { return o.committed | o.unknown | o.failed }

// books accounts for all updates of a run.
type books struct {
	config Config
	owners []owner
	// firsts are the first clients of the rounds, and the first client beyond all rounds.
	firsts []int
	// begun are the rounds with reserved operations.
	begun mask
	// whole is true if every begun update has a record.
	whole bool
	seen  definition.Set
}

func newBooks(config Config) *books {
	workers, _ := config.workers() // Validate says what is wrong
	b := &books{config: config, owners: make([]owner, config.Users), firsts: []int{0}, seen: definition.NewSet(config.Users*config.Documents + 1)}
	for _, n := range workers {
		b.firsts = append(b.firsts, b.firsts[len(b.firsts)-1]+n)
	}
	return b
}

func (b *books) generations() int64 { return int64(len(b.firsts)) - 1 }

// generationOf is the generation that a client writes, 0 for none.
func (b *books) generationOf(client int) int64 {
	for i, first := range b.firsts[1:] {
		if client < first {
			return int64(i) + 1
		}
	}
	return 0
}

func (b *books) update(op *history.Op) error {
	if len(op.Values) != 3 {
		return fmt.Errorf("operation %d of client %d cannot be understood", op.Seq, op.Client)
	}
	user, generation := op.Values[0], op.Values[1]
	if user < 1 || user > b.config.Users || generation < 1 || generation != b.generationOf(op.Client) {
		return fmt.Errorf("operation %d of client %d cannot have been: user %d, round %d", op.Seq, op.Client, user, generation)
	}
	o, bit := &b.owners[user-1], mask(1)<<uint(generation)
	if op.Attempt == 1 && o.recorded()&bit != 0 {
		return fmt.Errorf("user %d was a task of round %d twice", user, generation)
	}
	switch op.Outcome {
	case history.Committed:
		o.committed |= bit
	case history.Unknown:
		o.unknown |= bit
	default:
		o.failed |= bit
	}
	return nil
}

// possible reports whether a user's documents may be of a generation: the last acknowledged, or
// one whose effect or its time is not known.
func (b *books) possible(o *owner, generation int64) bool {
	switch {
	case generation < 0 || generation > b.generations():
		return false
	case generation == o.committed.highest() || o.unknown.has(generation):
		return true
	default:
		return !b.whole && b.begun.has(generation) && !o.recorded().has(generation)
	}
}

func (b *books) enter(user, id, generation int64) {
	o := &b.owners[user-1]
	if !b.possible(o, generation) {
		if o.wrong == 0 {
			o.wrongID, o.wrongGeneration = id, generation
		}
		o.wrong++
		return
	}
	if o.right == 0 {
		o.low, o.high = int8(generation), int8(generation)
	}
	o.low, o.high = min(o.low, int8(generation)), max(o.high, int8(generation))
	o.right++
}
