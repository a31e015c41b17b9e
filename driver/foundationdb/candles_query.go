//go:build foundationdb

package foundationdb

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"assay/history"
	"assay/workload/candles"
)

// query is what of an index is still to be read.
type query struct {
	// prefix is what the index's keys begin with before the moment; begin and
	// end are the keys between which to read.
	prefix, begin, end []byte
	// backwards gives the last first.
	backwards bool
	// left is how many rows are still wanted, if limited.
	left    int
	limited bool
	row     func(*candles.Candle)
}

// ask answers a query, page by page. All pages are of one version as long as
// the transaction is younger than candleStore.renew. A longer answer goes on in
// another, of a later version, before FoundationDB ends the first by its limit
// of five seconds: "The effect of long and large transactions can be achieved
// using short and small transactions" (manual, "Known Limitations", "Long
// running transactions"). No error is met by that, and none is passed over.
func (n *candleSession) ask(ctx context.Context, doing string, q *query) candles.Reply {
	for over := false; !over; {
		t, err := begin(ctx, n.db)
		if err != nil {
			return notBegun(ctx, err)
		}
		if over, err = n.some(t, q); err != nil {
			e := t.failure(doing, err)
			t.end()
			return e
		}
		t.end()
	}
	return candles.Reply{Outcome: history.Committed}
}

// some answers what one transaction is to.
func (n *candleSession) some(t *transaction, q *query) (over bool, err error) {
	// Nothing is written here, and what was read need not be kept.
	if err := t.Options().SetReadYourWritesDisable(); err != nil {
		return false, err
	}
	start := time.Now()
	for {
		over, err := n.page(t, q)
		if over || err != nil {
			return over, err
		}
		if time.Since(start) >= n.store.renew {
			return false, nil
		}
	}
}

// page reads a page of the index and then all its rows at the same time. The
// reads are snapshot reads, which see the same version as others: only the
// conflict ranges are spared, and a transaction that is not committed has no
// use for them.
func (n *candleSession) page(t *transaction, q *query) (over bool, err error) {
	want := n.store.page
	if q.limited {
		want = min(want, q.left)
	}
	// The database refuses a range that is the wrong way round, and takes no
	// limit for none.
	if want <= 0 || bytes.Compare(q.begin, q.end) >= 0 {
		return true, nil
	}
	view := t.Snapshot()
	entries, err := view.GetRange(keyRange(q.begin, q.end),
		fdb.RangeOptions{Limit: want, Mode: fdb.StreamingModeExact, Reverse: q.backwards}).GetSliceWithError()
	if err != nil {
		return false, err
	}
	keys, rows := make([]fdb.Key, len(entries)), make([]fdb.FutureByteSlice, len(entries))
	for i, entry := range entries {
		id, err := idOfEntry(q.prefix, entry.Key)
		if err != nil {
			return false, err
		}
		keys[i] = n.key(tableCandle, id)
		rows[i] = view.Get(keys[i])
	}
	for i, f := range rows {
		value, err := f.Get()
		if err == nil && value == nil {
			err = fmt.Errorf("the index entry %x is of a candle that is not there", []byte(entries[i].Key))
		}
		var c candles.Candle
		if err == nil {
			err = n.candle(keys[i], value, &c)
		}
		if err != nil {
			return false, err
		}
		q.row(&c)
	}
	if len(entries) < want {
		return true, nil
	}
	q.left -= len(entries)
	if last := entries[len(entries)-1].Key; q.backwards {
		q.end = last
	} else {
		q.begin = append(last[:len(last):len(last)], 0) // the key that follows
	}
	return q.limited && q.left == 0, nil
}
