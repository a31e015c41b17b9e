package bulkupdate

import (
	"fmt"
	"math/bits"

	"assay/history"
	"assay/store"
	"assay/workload"
	"assay/workload/definition"
)

// stateRows is the file of the documents after the run: id, user, number, flag,
// generation, hash of the payload.
func stateRows() definition.RowFile {
	return definition.RowFile{Magic: "ASSAYB02", First: 1, Columns: []int{6}, End: 2}
}

// stored is a document as it is kept.
type stored struct {
	id, user, number int64
	flag             bool
	generation       int64
	sum              int64
}

// save keeps the documents that each gives in a file; see definition.RowFile.Save.
func save(path string, read func(rows int64), each func(func(Document) error) error) error {
	return stateRows().Save(path, read, func(w *definition.RowWriter) error {
		return each(func(d Document) error {
			return w.Put(0, d.ID, d.User, d.Number, store.OfBool(d.Flag).Number, d.Generation, workload.Sum(d.Payload))
		})
	})
}

// mask has a bit for each generation; generation 0, as it was loaded, has none
// set.
type mask uint64

func (m mask) has(generation int64) bool { return m>>uint(generation)&1 == 1 }

// highest is the highest generation of a mask, 0 of an empty one.
func (m mask) highest() int64 { return int64(max(bits.Len64(uint64(m)), 1) - 1) }

// owner is what is known of one user's documents: what became of the update of
// each generation, and what was read back.
type owner struct {
	committed, unknown, failed mask

	// right and wrong count the documents that say what they may, and that do
	// not. wrongID and wrongGeneration are those of the first wrong one.
	right, wrong             int64
	wrongID, wrongGeneration int64
	// low and high are the least and the greatest generation of the right ones.
	low, high int8
}

// recorded are the generations of which the history has the update.
func (o *owner) recorded() mask { return o.committed | o.unknown | o.failed }

// books is the account of all updates of a run.
type books struct {
	config Config
	owners []owner
	// firsts are the number of the first client of each round, and of the first
	// that no round has.
	firsts []int
	// begun are the rounds in which a client has reserved operations.
	begun mask
	// whole is true if every update that was begun has its record.
	whole bool
	// seen are the documents that were read back.
	seen definition.Set
}

func newBooks(config Config) (*books, error) {
	workers, err := config.workers()
	if err != nil {
		return nil, err
	}
	b := &books{config: config, owners: make([]owner, config.Users), firsts: []int{0}, seen: definition.NewSet(config.Users*config.Documents + 1)}
	for _, n := range workers {
		b.firsts = append(b.firsts, b.firsts[len(b.firsts)-1]+n)
	}
	return b, nil
}

// generations is the number of rounds.
func (b *books) generations() int64 { return int64(len(b.firsts)) - 1 }

// generationOf is the generation that a client writes, 0 if there is none.
func (b *books) generationOf(client int) int64 {
	for i, first := range b.firsts[1:] {
		if client < first {
			return int64(i) + 1
		}
	}
	return 0
}

// update enters one attempt.
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

// possible reports whether the documents of a user may be of this generation:
// the last that was acknowledged, or one of which it is not known whether, or
// when, it took effect.
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

// enter counts a document of a user as right or wrong.
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
