package bulkupdate

import (
	"context"
	"fmt"
	"math/bits"

	"assay/history"
	"assay/workload"
)

// The documents after the run are kept in a file of records
// (history.SaveRecords), so that they can be judged again without the
// database: each as the database gave it, its payload as a hash, then their
// count, without which the file is not whole.
const (
	stateMagic       = "ASSAYB02"
	tagDocument byte = 1 // id, user, number, flag, generation, hash of the payload
	tagCount    byte = 2 // documents
)

// stored is a document as it is kept.
type stored struct {
	id, user, number int64
	flag             bool
	generation       int64
	sum              int64
}

// Save reads all documents of the store into a file. read is called now and
// then with the number of documents so far. A file that exists is replaced,
// and only by a whole one.
func Save(ctx context.Context, store Store, path string, read func(rows int64)) error {
	var rows int64
	return history.SaveRecords(path, stateMagic, func() { read(rows) }, func(w *history.RecordWriter) error {
		err := store.Read(ctx, func(d Document) error {
			rows++
			flag := int64(0)
			if d.Flag {
				flag = 1
			}
			return w.Put(tagDocument, d.ID, d.User, d.Number, flag, d.Generation, workload.Sum(d.Payload))
		})
		if err != nil {
			return err
		}
		return w.Put(tagCount, rows)
	})
}

// replay reads what Save wrote, in its order. A file that is not whole gives a
// *history.CutError, a damaged one a *history.FormatError, and the callback's
// error is returned as it is.
func replay(path string, document func(stored) error) error {
	var rows int64
	return history.ReplayRecords(path, stateMagic, func(tag byte, r *history.RecordReader) error {
		var v [6]int64
		switch {
		case tag == tagDocument && r.Ints(v[:]):
			rows++
			return document(stored{id: v[0], user: v[1], number: v[2], flag: v[3] != 0, generation: v[4], sum: v[5]})
		case tag == tagCount && r.Ints(v[:1]) && v[0] == rows:
			r.Whole()
			return nil
		default:
			return r.Malformed("a document that cannot be read, or a count that does not match")
		}
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
	// seen has a bit for each document that was read back.
	seen []uint64
}

func newBooks(config Config) (*books, error) {
	workers, err := config.workers()
	if err != nil {
		return nil, err
	}
	b := &books{config: config, owners: make([]owner, config.Users), firsts: []int{0}, seen: make([]uint64, config.Users*config.Documents/64+1)}
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

// mark notes that a document was read back, and reports whether it had been
// before.
func (b *books) mark(id int64) (again bool) {
	word, bit := &b.seen[id/64], uint64(1)<<(id%64)
	again = *word&bit != 0
	*word |= bit
	return again
}

func (b *books) marked(id int64) bool { return b.seen[id/64]&(uint64(1)<<(id%64)) != 0 }

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
