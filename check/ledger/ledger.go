// Package ledger judges a bank by the history of requests and acknowledgments, the journal rows
// that the transfers wrote, and the accounts as read back after the run. It has six checks.
//
//   - total: the accounts are exactly those loaded, hold in sum what was loaded, and none is
//     below zero.
//   - accounts: each balance is the loaded balance plus credits minus debits of the journal, and
//     each version counts the account's journal rows.
//   - transfers: a committed transfer has exactly one row, a rejected or failed one none, an
//     unknown one none or one. Every row is, field by field, the transfer of its id.
//   - order: each account got its versions 1 to n once each. All accounts agree on one order of
//     the transfers, which agrees with real time and gives the acknowledged balances.
//   - snapshots: an audit during the run, in one transaction, saw one state of that order: both
//     sides of every transfer or neither, and everything acknowledged before it began.
//   - replicas: each replica has the primary's accounts and journal (Replicas).
//
// A restored backup gets the first four, judged by its own state, and a seventh:
//
//   - restored: it is the state of one moment (Judge.Restored).
//
// No check suffices alone. total misses an acknowledged transfer that vanished with both its
// sides; accounts misses it if its row vanished too; transfers misses a balance that no row
// explains. All three miss an error that existed only during the run.
//
// One error is reported once:
//   - A row that transfers reports (foreign, altered, doubled) is left out of the order, and its
//     gap is not reported.
//   - If a version was given twice, the order follows the row read first.
//   - After a gap, a repeated version or a wrong balance, the balances resume at the next
//     acknowledgment.
//   - An audit is reported for its first error.
//
// Everything takes linear time, and this memory:
//
//	operation   1 outcome, 16 times, 8 balances, 8 versions, 2 for finding it   35 bytes
//	row         4 its operation                                                  4 bytes
//	account    65, and 24 more if there are audits                              89 bytes
//
// That is 39 bytes a transfer: 390 MB for ten million transfers, 3.9 GB for a hundred million, and
// 89 MB for a million accounts. If something is wrong, a row takes 36 more: 16 for its accounts
// and versions, 8 for its two slots by version and 12 for its place in the order. An account then
// takes 8 more for their bounds. With audits, a transfer with an unanswered attempt takes 32 more.
// A partial audit of k accounts takes 45 bytes, 28 for each of the k, and once 4 for each account
// of the bank. A full audit takes 56.
//
// The package imports no workload, database or load: it gets what it needs of the workload as
// functions (Config).
package ledger

import (
	"fmt"
	"math/big"

	"assay/check"
	"assay/history"
)

// Config describes the workload to the judge. Its functions must be pure.
type Config struct {
	// Accounts is the number of accounts, 1 to MaxAccounts. Their ids are 1 to Accounts.
	Accounts int64
	// Opening is the balance with which account id was loaded.
	Opening func(id int64) int64
	// Expect returns the transfer of an id.
	Expect func(id int64) (source, destination, amount int64)
	// ID returns the id of a client's operation. Split is its inverse; ok is false for other ids.
	ID    func(client int, seq uint64) int64
	Split func(id int64) (client int, seq uint64, ok bool)
	// TransferKind is history.Op.Kind of a transfer. Other operations have no row.
	TransferKind uint8

	// AuditKind is history.Op.Kind of an audit of some accounts, or 0. Its Values are the balance
	// and the version of each account that Audited names, in that order. The accounts are
	// distinct. Op calls Audited once for each committed audit.
	AuditKind uint8
	Audited   func(client int, seq uint64) []int64
	// FullAuditKind is history.Op.Kind of an audit of all accounts, or 0. Its Values are the
	// number of accounts, the sum of their balances and the sum of their versions.
	FullAuditKind uint8
	// Earlier is true if the journal and the accounts precede the end of the history, as a
	// backup's do: then a committed transfer need not have a row. Results judges what is there,
	// and Restored reports the missing transfers.
	Earlier bool

	// Folder gets an unnamed file for times, balances and versions (32 of the 39 bytes of each
	// transfer) beyond Memory bytes of them, on Linux. The system keeps the parts in use in
	// memory. If Folder is "", or has no room, everything is in memory.
	Folder string
	Memory int64
}

// MaxAccounts is the most accounts that a Judge takes.
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

// Part is one of the three sources that are compared with each other.
type Part uint8

const (
	History Part = iota
	Journal
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

// Judge takes its input in two steps: first the whole history (Op and Reserve in any order), and
// then the journal (Row, in any order) and the accounts (Account, by ascending id), in any order.
// After that, Results may be called several times. A Judge is not safe for concurrent use.
type Judge struct {
	config   Config
	ops      operations
	reserved map[int]uint64
	entries  entries
	// otherVersions are operations acknowledged with other versions than their first row has.
	otherVersions []operationAt
	// proof replays the entries as they come; nil before the first, and after the history grew.
	proof *orderProof
	// searchable bounds the entries that are searched for errors.
	searchable uint32
	audits     audits
	unanswered []unanswered

	committed int64 // transfers that committed according to the history
	rowsRead  int64

	accounts     []account // by id-1
	accountRead  []bool
	accountsRead int64
	lastID       int64
	sum          big.Int

	total, transfers, order check.Findings
	incomplete              [parts]string
}

type operationAt struct {
	*block
	i int
}

type account struct {
	balance, version int64
	// effect is credits minus debits; touched counts the journal's rows. Sums wrap around, so
	// equality still decides.
	effect, touched int64
	// proven is here to share the processor's cache line.
	proven provenAccount
}

// New returns a judge without input, or an error if the configuration cannot be used.
func New(b Config) (*Judge, error) {
	if b.Accounts < 1 || b.Accounts > MaxAccounts {
		return nil, fmt.Errorf("ledger: %d accounts; want 1 to %d", b.Accounts, MaxAccounts)
	}
	if b.Opening == nil || b.Expect == nil || b.ID == nil || b.Split == nil {
		return nil, fmt.Errorf("ledger: Config lacks a function")
	}
	if err := b.validateAudits(); err != nil {
		return nil, err
	}
	return &Judge{
		config: b, ops: newOperations(spill{folder: b.Folder, limit: b.Memory}), reserved: map[int]uint64{}, searchable: maxSearched,
		accounts: make([]account, b.Accounts), accountRead: make([]bool, b.Accounts),
		total: newFindings(totalKinds), transfers: newFindings(transferKinds), order: newFindings(orderKinds),
	}, nil
}

func (b *Config) validateAudits() error {
	audits := b.AuditKind != 0 || b.FullAuditKind != 0
	switch {
	case b.AuditKind != 0 && b.Audited == nil:
		return fmt.Errorf("ledger: Config.Audited is missing: it names the accounts of an audit")
	case audits && b.AuditKind == b.FullAuditKind || b.AuditKind != 0 && b.AuditKind == b.TransferKind ||
		b.FullAuditKind != 0 && b.FullAuditKind == b.TransferKind:
		return fmt.Errorf("ledger: two kinds of operation have one number")
	}
	return nil
}

// Close frees the file in Config.Folder. The judge must not be used afterwards, its results may.
func (j *Judge) Close() error { return j.ops.spill.close() }

// Incomplete records why a part was damaged or not read to its end. Then nothing is concluded
// from an absence in the part: valid becomes unknown, and violations stay. A history that ends
// early (the run was cut or killed) is not incomplete, because reservations tell what may be
// missing. The first reason for a part is kept.
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

// Op takes one attempt of the history and does not keep op. Only the attempt with Last decides, by
// its Final outcome and Kind. An operation without one, because the run was killed, is unknown.
// Values of a committed transfer may hold the acknowledged balance and version of the source, and
// then those of the destination. The versions are compared with the row's, and the balances with
// the order.
func (j *Judge) Op(op *history.Op) {
	j.historyGrows()
	block, i := j.ops.make(op.Client, op.Seq)
	if block == nil {
		j.Incomplete(History, fmt.Sprintf("it holds an impossible operation %d of client %d", op.Seq, op.Client))
		return
	}
	m := &block.states[i]
	if m.has(ended) && op.Last {
		j.Incomplete(History, fmt.Sprintf("it ends operation %d of client %d twice", op.Seq, op.Client))
		return
	}
	*m |= recorded
	if op.Kind == j.config.TransferKind {
		block.page[i].record(op)
		j.doubt(op)
	}
	if !op.Last {
		return
	}
	*m |= ended
	if op.Kind != j.config.TransferKind {
		*m |= other
		j.audit(op)
		return
	}
	if op.Final.Valid() {
		*m |= opState(op.Final)
	}
	if op.Final == history.Committed {
		j.committed++
		if len(op.Values) >= 4 {
			*m |= acknowledged
		}
	}
}

// historyGrows marks a history that grew after rows, which may then have looked foreign.
func (j *Judge) historyGrows() {
	if j.rowsRead > 0 {
		j.Incomplete(History, "it went on after the journal had begun")
		j.proof = nil
	}
}

// Account takes one account as read back.
func (j *Judge) Account(id, balance, version int64) {
	j.accountsRead++
	j.sum.Add(&j.sum, big.NewInt(balance))
	evidence := func(text string) func() check.Evidence {
		return func() check.Evidence {
			return check.Evidence{Text: text, Fields: map[string]int64{"account": id, "balance": balance, "version": version}}
		}
	}
	if balance < 0 {
		j.total.Add(kindNegative, evidence(fmt.Sprintf("account %d holds %d", id, balance)))
	}
	a := j.account(id)
	switch {
	case a == nil:
		j.total.Add(kindForeignAccount, evidence(fmt.Sprintf(
			"account %d, holding %d, was never loaded; the accounts are 1 to %d", id, balance, len(j.accounts))))
		return
	case j.accountRead[id-1]:
		j.total.Add(kindDoubledAccount, evidence(fmt.Sprintf(
			"account %d was read again, now holding %d; at first it held %d", id, balance, a.balance)))
		return
	case id < j.lastID:
		j.total.Add(kindUnordered, evidence(fmt.Sprintf(
			"account %d was read after account %d, though asked for by ascending id", id, j.lastID)))
	}
	j.lastID = max(j.lastID, id)
	j.accountRead[id-1] = true
	a.balance, a.version = balance, version
}
