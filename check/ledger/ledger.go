// Package ledger judges a bank by its own books: the history of what was
// asked and acknowledged, the journal that the transfers left, and the
// accounts as read back after the run. It answers three checks.
//
//   - total: the accounts hold in sum what was loaded, none is below zero, and
//     they are exactly the accounts that were loaded.
//   - accounts: each balance is what was loaded plus credits minus debits of
//     the journal, and each version counts the journal's rows of the account.
//   - transfers: a committed transfer has exactly one row, a rejected or failed
//     one has none, an unknown one has none or one, and every row is, field by
//     field, the transfer that its id stands for.
//
// None of them alone is enough. The total cannot see an acknowledged transfer
// that vanished with both its sides; the accounts cannot see it if its row
// vanished too; the transfers cannot see a balance that no row explains.
//
// The work is linear in time, and memory is one byte an operation and 33 bytes
// an account. The package must not know any workload, database or load: what
// it needs of the workload is given as functions (Books).
package ledger

import (
	"fmt"

	"assay/check"
	"assay/history"
)

// Books is what the judge must know of the workload. The functions must be
// pure.
type Books struct {
	// Accounts is how many there are, ids 1 to Accounts; 1 to MaxAccounts.
	Accounts int64
	// Opening is the balance that account id was loaded with.
	Opening func(id int64) int64
	// Expect is the transfer that belongs to an id.
	Expect func(id int64) (source, destination, amount int64)
	// ID is the id of a client's operation, and Split its inverse; ok is false
	// for an id that no client can have made.
	ID    func(client int, seq uint64) int64
	Split func(id int64) (client int, seq uint64, ok bool)
	// TransferKind is history.Op.Kind of a transfer. Operations of another
	// kind have no row.
	TransferKind uint8
}

// MaxAccounts is the most accounts that a Judge keeps.
const MaxAccounts = 1 << 30

// Row is one row of the journal as read back.
type Row struct {
	ID          int64
	Source      int64
	Destination int64
	Amount      int64
	// The versions that the transfer gave its two accounts.
	SourceVersion      int64
	DestinationVersion int64
}

// Part is one of the three things that are judged against one another.
type Part uint8

const (
	// History is the record of the run.
	History Part = iota
	// Journal is the rows.
	Journal
	// Accounts is the balances.
	Accounts
	parts
)

func (p Part) String() string {
	switch p {
	case History:
		return "history"
	case Journal:
		return "journal"
	default:
		return "list of accounts"
	}
}

// Judge takes the books in two steps: first the whole history (Op and Reserve
// in any order), then, in any order, the journal (Row, in any order) and the
// accounts (Account, by ascending id). Results may then be asked for, more
// than once. A Judge is not safe for concurrent use.
type Judge struct {
	books    Books
	ops      operations
	reserved map[int]uint64

	committed int64 // transfers that the history says are committed
	rowsRead  int64

	sheet        []account // by id-1
	seen         []bool
	accountsRead int64
	lastID       int64
	sum          adder

	total, transfers findings
	incomplete       [parts]string
}

// account is what the books say of one account, twice over: as read back, and
// as the journal has it.
type account struct {
	balance, version int64
	// effect is credits minus debits; touched counts the journal's rows. All
	// sums wrap around like the machine's, so that equality still decides.
	effect, touched int64
}

// New returns a judge of empty books. It returns an error if Books cannot be
// used.
func New(b Books) (*Judge, error) {
	if b.Accounts < 1 || b.Accounts > MaxAccounts {
		return nil, fmt.Errorf("ledger: %d accounts; want 1 to %d", b.Accounts, MaxAccounts)
	}
	if b.Opening == nil || b.Expect == nil || b.ID == nil || b.Split == nil {
		return nil, fmt.Errorf("ledger: the books lack a function")
	}
	return &Judge{
		books: b, ops: operations{}, reserved: map[int]uint64{},
		sheet: make([]account, b.Accounts), seen: make([]bool, b.Accounts),
		total: newFindings(totalKinds), transfers: newFindings(transferKinds),
	}, nil
}

// Incomplete says that a part was not read to its end, or was damaged, and
// why. What would have to be concluded from an absence in that part is then
// not concluded, and what would be valid by it is unknown. What is wrong stays
// wrong. A history that merely ends early (the run was cut or killed) is not
// incomplete, because reservations say what may be missing from it. Of several
// reasons for one part the first is kept.
func (j *Judge) Incomplete(part Part, reason string) {
	if part < parts && j.incomplete[part] == "" {
		j.incomplete[part] = reason
	}
}

// Reserve takes a reservation of the history.
func (j *Judge) Reserve(r history.Reservation) {
	j.historyGrows()
	if r.Client < 0 || r.Client >= clientLimit || r.UpTo > seqLimit {
		j.Incomplete(History, fmt.Sprintf("it holds an impossible reservation of client %d up to %d", r.Client, r.UpTo))
		return
	}
	j.reserved[r.Client] = max(j.reserved[r.Client], r.UpTo)
}

// Op takes one attempt of the history. Only the attempt with Last decides, by
// its Final outcome and Kind; an operation that has none, because the run was
// killed, is unknown. Op.Values of a committed transfer may hold what was
// acknowledged: the source's balance and version, then the destination's; the
// versions are then held against the row's. The op is not kept.
func (j *Judge) Op(op *history.Op) {
	j.historyGrows()
	block, i := j.ops.make(op.Client, op.Seq)
	if block == nil {
		j.Incomplete(History, fmt.Sprintf("it holds an impossible operation %d of client %d", op.Seq, op.Client))
		return
	}
	m := &block.marks[i]
	if m.has(ended) && op.Last {
		j.Incomplete(History, fmt.Sprintf("it ends operation %d of client %d twice", op.Seq, op.Client))
		return
	}
	*m |= recorded
	if !op.Last {
		return
	}
	*m |= ended
	if op.Kind != j.books.TransferKind {
		*m |= other
		return
	}
	if op.Final.Valid() {
		*m |= mark(op.Final)
	}
	if op.Final == history.Committed {
		j.committed++
		if len(op.Values) >= 4 {
			*m |= acknowledged
			block.acknowledge(i, op.Values[1], op.Values[3])
		}
	}
}

// historyGrows guards against rows that were judged before the history was
// whole, which could be taken for foreign.
func (j *Judge) historyGrows() {
	if j.rowsRead > 0 {
		j.Incomplete(History, "it went on after the journal had begun")
	}
}

// Row takes one row of the journal, however wrong.
func (j *Judge) Row(r Row) {
	j.rowsRead++
	j.book(r)
	client, seq, ok := j.books.Split(r.ID)
	if !ok {
		j.foreignRow(r, "no client can have made its id")
		return
	}
	block, i := j.ops.find(client, seq)
	if block == nil || !block.marks[i].has(recorded) {
		if seq >= j.reserved[client] {
			j.unreservedRow(r, client, seq)
			return
		}
		block, i = j.ops.make(client, seq) // reserved, so within the limits
	}
	m := &block.marks[i]
	if m.has(other) {
		j.foreignRow(r, fmt.Sprintf("operation %d of client %d is not a transfer", seq, client))
		return
	}
	if m.has(acknowledged) {
		block.withdraw(i, r.SourceVersion, r.DestinationVersion)
	}
	*m = m.addRow()
	j.compare(r)
}

// book adds the row to the two accounts that it names, whether or not anybody
// asked for it: the accounts are held against the journal as it is.
func (j *Judge) book(r Row) {
	if a := j.account(r.Source); a != nil {
		a.effect -= r.Amount
		a.touched++
	}
	if a := j.account(r.Destination); a != nil {
		a.effect += r.Amount
		if r.Destination != r.Source {
			a.touched++
		}
	}
}

func (j *Judge) account(id int64) *account {
	if id < 1 || id > int64(len(j.sheet)) {
		return nil
	}
	return &j.sheet[id-1]
}

// unreservedRow is a row of an operation that nobody may have started. If the
// history is incomplete, its reservation may be what is missing.
func (j *Judge) unreservedRow(r Row, client int, seq uint64) {
	if j.incomplete[History] != "" {
		j.compare(r)
		return
	}
	j.foreignRow(r, fmt.Sprintf("client %d never started operation %d", client, seq))
}

func (j *Judge) foreignRow(r Row, why string) {
	j.transfers.add(kindForeign, func() check.Evidence {
		return check.Evidence{
			Text: fmt.Sprintf("journal row %d (%d from account %d to %d) is nobody's: %s",
				r.ID, r.Amount, r.Source, r.Destination, why),
			Fields: rowFields(r),
		}
	})
}

// compare holds a row against the transfer that its id stands for.
func (j *Judge) compare(r Row) {
	source, destination, amount := j.books.Expect(r.ID)
	if r.Source == source && r.Destination == destination && r.Amount == amount {
		return
	}
	j.transfers.add(kindAltered, func() check.Evidence {
		fields := rowFields(r)
		fields["expected_source"], fields["expected_destination"] = source, destination
		fields["expected_amount"] = amount
		return check.Evidence{
			Text: fmt.Sprintf("journal row %d says %d from account %d to %d; asked for was %d from account %d to %d",
				r.ID, r.Amount, r.Source, r.Destination, amount, source, destination),
			Fields: fields,
		}
	})
}

func rowFields(r Row) map[string]int64 {
	return map[string]int64{"id": r.ID, "source": r.Source, "destination": r.Destination, "amount": r.Amount,
		"source_version": r.SourceVersion, "destination_version": r.DestinationVersion}
}

// Account takes one account as read back.
func (j *Judge) Account(id, balance, version int64) {
	j.accountsRead++
	j.sum.add(balance)
	evidence := func(text string) func() check.Evidence {
		return func() check.Evidence {
			return check.Evidence{Text: text, Fields: map[string]int64{"account": id, "balance": balance, "version": version}}
		}
	}
	if balance < 0 {
		j.total.add(kindNegative, evidence(fmt.Sprintf("account %d holds %d", id, balance)))
	}
	a := j.account(id)
	switch {
	case a == nil:
		j.total.add(kindForeignAccount, evidence(fmt.Sprintf(
			"account %d, holding %d, was never loaded; the accounts are 1 to %d", id, balance, len(j.sheet))))
		return
	case j.seen[id-1]:
		j.total.add(kindDoubledAccount, evidence(fmt.Sprintf(
			"account %d was read again, now holding %d; at first it held %d", id, balance, a.balance)))
		return
	case id < j.lastID:
		j.total.add(kindUnordered, evidence(fmt.Sprintf(
			"account %d was read after account %d, though asked for by ascending id", id, j.lastID)))
	}
	j.lastID = max(j.lastID, id)
	j.seen[id-1] = true
	a.balance, a.version = balance, version
}
