package mem

import (
	"fmt"
	"unsafe"

	"assay/history"
	"assay/workload"
	"assay/workload/bank"
)

// books is the bank's data. It is not safe for concurrent use. It is made to
// be small: sixteen bytes an account and, with its duplicate detection, little
// more than 32 a transfer. A copy, which detects none, takes the same again.
type books struct {
	// accounts is by id-1.
	accounts []account
	loaded   int64
	// journal is in chunks, so that it grows without being copied.
	journal []*chunk
	rows    int64
	// known has a bit for each id in the journal, by id/64: a client's ids
	// follow one another.
	known map[int64]uint64
	// watch is told of each transfer that is applied; nil if nobody asks.
	watch func(applied)

	// For who keeps a copy: the accounts, by id, that may have changed since it
	// last looked, and how many rows have not.
	changed []uint32
	kept    int64
}

// applied is a transfer that was applied, with the states of its source and its
// destination before and after.
type applied struct {
	bank.Transfer
	was, became [2]bank.State
}

// side is which of the two an account was: 0 the source, 1 the destination, -1
// neither.
func (a *applied) side(id int64) int {
	switch id {
	case a.Source:
		return 0
	case a.Destination:
		return 1
	default:
		return -1
	}
}

type account struct {
	balance int64
	version uint32
	there   bool
}

// row is a bank.Entry with accounts and versions in 32 bits: there are at most
// bank.MaxAccounts, and no memory holds 2^32 transfers.
type row struct {
	id, amount                        int64
	source, destination               uint32
	sourceVersion, destinationVersion uint32
}

func newRow(t bank.Transfer, sourceVersion, destinationVersion int64) row {
	return row{
		id: t.ID, amount: t.Amount, source: uint32(t.Source), destination: uint32(t.Destination),
		sourceVersion: uint32(sourceVersion), destinationVersion: uint32(destinationVersion),
	}
}

const chunkRows = 4096

type chunk [chunkRows]row

// load adds accounts. Their ids must be 1 to bank.MaxAccounts and new.
func (b *books) load(batch []bank.Account) error {
	for _, a := range batch {
		if a.ID < 1 || a.ID > bank.MaxAccounts {
			return fmt.Errorf("mem: load accounts: id %d is not from 1 to %d", a.ID, bank.MaxAccounts)
		}
		for int64(len(b.accounts)) < a.ID {
			b.accounts = append(b.accounts, account{})
		}
		if b.accounts[a.ID-1].there {
			return fmt.Errorf("mem: load accounts: account %d exists", a.ID)
		}
		b.accounts[a.ID-1] = account{balance: a.Balance, version: uint32(a.Version), there: true}
		b.loaded++
	}
	return nil
}

// account returns nil if there is no such account.
func (b *books) account(id int64) *account {
	if id < 1 || id > int64(len(b.accounts)) || !b.accounts[id-1].there {
		return nil
	}
	return &b.accounts[id-1]
}

// refusal is the honest answer to a transfer that cannot be done; its Class is
// empty for one that can.
func (b *books) refusal(t bank.Transfer) bank.Reply {
	source := b.account(t.Source)
	switch {
	case b.known[t.ID>>6]&(1<<(t.ID&63)) != 0:
		return bank.Reply{Reply: workload.Reply{Outcome: history.Failed, Duplicate: true, Class: workload.ClassDuplicate}}
	case source == nil || b.account(t.Destination) == nil:
		return bank.Reply{Reply: workload.Reply{Outcome: history.Rejected, Class: bank.ClassNoAccount}}
	case source.balance < t.Amount:
		return bank.Reply{Reply: workload.Reply{Outcome: history.Rejected, Class: bank.ClassNoFunds}}
	}
	return bank.Reply{}
}

// apply does a transfer that was not refused.
func (b *books) apply(t bank.Transfer) bank.Reply {
	was := [2]bank.State{b.state(t.Source), b.state(t.Destination)}
	source, destination := b.move(t.Source, -t.Amount), b.move(t.Destination, t.Amount)
	b.record(t, source.Version, destination.Version)
	if b.watch != nil {
		b.watch(applied{t, was, [2]bank.State{source, destination}})
	}
	return committed(source, destination)
}

// move changes a balance and returns the new state.
func (b *books) move(id, amount int64) bank.State {
	a := b.account(id)
	a.balance += amount
	a.version++
	b.changed = append(b.changed, uint32(id))
	return bank.State{Balance: a.balance, Version: int64(a.version)}
}

// state returns an account's state.
func (b *books) state(id int64) bank.State {
	a := b.account(id)
	return bank.State{Balance: a.balance, Version: int64(a.version)}
}

// restore puts an account back to a state.
func (b *books) restore(id int64, s bank.State) {
	a := b.account(id)
	a.balance, a.version = s.Balance, uint32(s.Version)
	b.changed = append(b.changed, uint32(id))
}

// record adds a row to the journal.
func (b *books) record(t bank.Transfer, sourceVersion, destinationVersion int64) {
	b.add(newRow(t, sourceVersion, destinationVersion))
	if b.known == nil {
		b.known = map[int64]uint64{}
	}
	b.known[t.ID>>6] |= 1 << (t.ID & 63)
}

// strike takes the last row out of the journal.
func (b *books) strike() {
	id := b.row(b.rows - 1).id
	b.known[id>>6] &^= 1 << (id & 63)
	b.remove()
}

// add puts a row at the end of the journal, whatever its id.
func (b *books) add(r row) {
	if b.rows%chunkRows == 0 {
		b.journal = append(b.journal, new(chunk))
	}
	b.rows++
	*b.row(b.rows - 1) = r
}

// remove is the reverse of add.
func (b *books) remove() {
	b.rows--
	if b.rows%chunkRows == 0 {
		b.journal = b.journal[:len(b.journal)-1]
	}
	b.kept = min(b.kept, b.rows)
}

func (b *books) row(i int64) *row { return &b.journal[i/chunkRows][i%chunkRows] }

func (r *row) entry() bank.Entry {
	return bank.Entry{
		Transfer:      bank.Transfer{ID: r.id, Source: int64(r.source), Destination: int64(r.destination), Amount: r.amount},
		SourceVersion: int64(r.sourceVersion), DestinationVersion: int64(r.destinationVersion),
	}
}

// bytes is the memory that accounts and journal take.
func (b *books) bytes() int64 {
	return int64(len(b.accounts))*int64(unsafe.Sizeof(account{})) + int64(len(b.journal))*int64(unsafe.Sizeof(chunk{}))
}
