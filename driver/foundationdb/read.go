//go:build foundationdb

package foundationdb

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"assay/driver/ordered"
	"assay/internal/wait"
)

var errChanged = errors.New("the data changed while it was read, though nothing of this run was in flight; does somebody else use the same prefix")

// row gets a key and its value. Its error ends the reading and is returned unchanged.
type row func(key, value []byte) error

// rowError carries a row's own error past those of the database.
type rowError struct{ error }

// beginPass is a reader that has read the mark and takes a digest of everything.
func (p *database) beginPass(ctx context.Context) (*reader, error) {
	r := &reader{ctx: ctx, db: p.db, hash: sha256.New()}
	err := r.open()
	if err != nil {
		return nil, err
	}
	mark, err := p.MustMark(ctx, p.owned(r.t))
	if err != nil {
		r.close()
		return nil, err
	}
	value, err := ordered.EncodeMark(*mark)
	if err != nil {
		r.close()
		return nil, err
	}
	r.add(p.Layout.Mark(), value)
	return r, nil
}

// count counts a range's keys, and their bytes with the values'. It is no consistent view if it
// takes several transactions.
func (p *database) count(ctx context.Context, begin, end []byte) (rows, bytes int64, err error) {
	r := reader{ctx: ctx, db: p.db}
	defer r.close()
	if err := r.open(); err != nil {
		return 0, 0, err
	}
	err = r.table(begin, end, func(key, value []byte) error {
		rows++
		bytes += int64(len(key) + len(value))
		return nil
	})
	return rows, bytes, err
}

// reader reads tables in one transaction after the other.
type reader struct {
	ctx          context.Context
	db           fdb.Database
	t            *transaction
	transactions int
	hash         hash.Hash
	// single forbids a second transaction.
	single bool
}

// open begins a transaction that keeps nothing of its reads.
func (r *reader) open() error {
	r.close()
	t, err := begin(r.ctx, r.db)
	if err != nil {
		return err
	}
	r.t = t
	r.transactions++
	return t.Options().SetReadYourWritesDisable()
}

func (r *reader) close() {
	if r.t != nil {
		r.t.end()
		r.t = nil
	}
}

// add digests a key and a value, each after its length.
func (r *reader) add(key, value []byte) {
	if r.hash == nil {
		return
	}
	for _, part := range [][]byte{key, value} {
		r.hash.Write(binary.BigEndian.AppendUint32(nil, uint32(len(part))))
		r.hash.Write(part)
	}
}

const mostTries = 20

// table gives the rows from begin to before end. Another transaction follows one that became too
// old, or met a passing error.
func (r *reader) table(begin, end []byte, each row) error {
	tries, pause := 0, firstPause
	for {
		at, err := r.some(begin, end, each)
		if err == nil {
			return nil
		}
		moved := string(at) != string(begin)
		if !goesOn(codeOf(err), moved) || r.single {
			return err
		}
		if moved {
			begin, tries, pause = at, 0, firstPause
		} else if tries++; tries >= mostTries {
			return fmt.Errorf("after %d attempts: %w", tries, err)
		} else if err := wait.Pause(r.ctx, pause); err != nil {
			return err
		}
		pause = min(2*pause, lastPause)
		if err := r.open(); err != nil {
			return err
		}
	}
}

// some gives rows until the end or an error, and returns the key at which the next transaction
// continues.
func (r *reader) some(begin, end []byte, each row) (at []byte, err error) {
	rows := r.t.GetRange(keyRange(begin, end), fdb.RangeOptions{Mode: fdb.StreamingModeSerial}).Iterator()
	for rows.Advance() {
		kv, err := rows.Get()
		if err != nil {
			return begin, err
		}
		r.add(kv.Key, kv.Value)
		if err := each(kv.Key, kv.Value); err != nil {
			return begin, rowError{err}
		}
		begin = append(append([]byte(nil), kv.Key...), 0) // the key that follows
	}
	return begin, nil
}
