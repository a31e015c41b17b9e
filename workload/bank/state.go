package bank

import (
	"context"

	"assay/history"
)

// The state of the bank after the run is kept in a file of records
// (history.SaveRecords), so that it can be judged again without the database:
// accounts and journal rows as the database gave them, then their counts,
// without which the file is not whole.
const (
	stateMagic      = "ASSAYS02"
	tagAccount byte = 1
	tagEntry   byte = 2
	tagCounts  byte = 3
)

// Save reads the whole state of the store into a new file. read is called now
// and then with the number of rows so far. A file that exists is replaced,
// and only by a whole one.
func Save(ctx context.Context, store Store, path string, read func(rows int64)) error {
	return save(func(account func(Account) error, entry func(Entry) error) error {
		return store.Read(ctx, account, entry)
	}, path, read)
}

// save is Save for any source of accounts and journal rows.
func save(source func(func(Account) error, func(Entry) error) error, path string, read func(rows int64)) error {
	var accounts, entries int64
	return history.SaveRecords(path, stateMagic, func() { read(accounts + entries) }, func(w *history.RecordWriter) error {
		err := source(func(a Account) error {
			accounts++
			return w.Put(tagAccount, a.ID, a.Balance, a.Version)
		}, func(e Entry) error {
			entries++
			return w.Put(tagEntry, e.ID, e.Source, e.Destination, e.Amount, e.SourceVersion, e.DestinationVersion)
		})
		if err != nil {
			return err
		}
		return w.Put(tagCounts, accounts, entries)
	})
}

// Replay reads a saved state: what Store.Read gave, in its order. A file that
// is not whole gives a *history.CutError, a damaged one a
// *history.FormatError, and a callback's error is returned as it is.
func Replay(path string, account func(Account) error, entry func(Entry) error) error {
	var accounts, entries int64
	return history.ReplayRecords(path, stateMagic, func(tag byte, r *history.RecordReader) error {
		var v [6]int64
		switch {
		case tag == tagAccount && r.Ints(v[:3]):
			accounts++
			return account(Account{ID: v[0], Balance: v[1], Version: v[2]})
		case tag == tagEntry && r.Ints(v[:6]):
			entries++
			return entry(Entry{
				Transfer:      Transfer{ID: v[0], Source: v[1], Destination: v[2], Amount: v[3]},
				SourceVersion: v[4], DestinationVersion: v[5],
			})
		case tag == tagCounts && r.Ints(v[:2]):
			if v[0] != accounts || v[1] != entries {
				return r.Malformed("counts that do not match the rows")
			}
			r.Whole()
			return nil
		default:
			return r.Malformed("a row that cannot be read")
		}
	})
}
