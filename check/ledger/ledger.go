// Package ledger judges a bank by the history of what was asked and
// acknowledged, the journal rows that the transfers wrote, and the accounts as
// read back after the run. It has six checks.
//
//   - total: the accounts hold in sum what was loaded, none is below zero, and
//     they are exactly the accounts that were loaded.
//   - accounts: each balance is what was loaded plus credits minus debits of
//     the journal, and each version counts the journal's rows of the account.
//   - transfers: a committed transfer has exactly one row, a rejected or failed
//     one has none, an unknown one has none or one, and every row is, field by
//     field, the transfer that its id stands for.
//   - order: each account got its versions 1 to n once each, all accounts
//     agree on one order of the transfers, that order agrees with real time,
//     and the balances that were acknowledged follow from it.
//   - snapshots: an audit done during the run, in one transaction, saw one
//     state of that order: of every transfer both sides or neither, and all
//     that was acknowledged before it began.
//   - replicas: each replica has the primary's accounts and journal (Replicas).
//
// A restored backup is judged by the first four of its own state, and by a seventh:
//
//   - restored: it is the state of one moment (Judge.Restored).
//
// None of them alone is enough. The total cannot see an acknowledged transfer
// that vanished with both its sides; the accounts cannot see it if its row
// vanished too; the transfers cannot see a balance that no row explains; and
// none of the three sees what was wrong only while the run went on.
//
// One error is reported once. A row that the check of transfers reports (foreign,
// altered, doubled) is left out of the order, and the gap that it leaves is not
// reported; of a version that was given twice the order follows the row that was
// read first; after a gap, a repeated version or a wrong balance the balances are
// taken up again from the next acknowledgment; and an audit is reported for the
// first error found in it.
//
// All takes linear time, and of memory
//
//	operation   1 outcome, 16 times, 8 balances, 8 versions, 2 for finding it   35 bytes
//	row         4 its operation                                                  4 bytes
//	account    65, and 24 more if there are audits                              89 bytes
//
// so 39 bytes a transfer: 390 MB for ten million transfers, 3.9 GB for a
// hundred million, and 89 MB for a million accounts. Where something is wrong, a
// row takes 36 more, 16 for its accounts and versions, 8 for its two slots by version and 12 for
// its place in the order, and an account 8 for their bounds.
// A transfer with an attempt that had no answer takes 32 more, if there are audits.
// A partial audit of k accounts takes 45 bytes and 28 for each of the k,
// with 4 for each account of the bank once; a full one 56.
//
// The package imports no workload, database or load: what it needs of the
// workload is given as functions (Config).
package ledger

import (
	"fmt"
	"math/big"

	"assay/check"
	"assay/history"
)

// Config describes the workload to the judge. The functions must be pure.
type Config struct {
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

	// AuditKind is history.Op.Kind of an audit of some accounts, 0 if none are
	// done. Its Values are balance and version of each account that Audited
	// names, in that order; the accounts are distinct. Audited is called once
	// for each committed audit, while Op takes it.
	AuditKind uint8
	Audited   func(client int, seq uint64) []int64
	// FullAuditKind is history.Op.Kind of an audit of all accounts, 0 if none
	// are done. Its Values are how many there are, the sum of their balances
	// and the sum of their versions.
	FullAuditKind uint8
	// Earlier is true if the journal and the accounts are of an earlier state than that
	// after the history, such as a backup's: a committed transfer need not have a row.
	// Results are then those of what is there, and Restored says what is not.
	Earlier bool

	// Folder is where a file without a name takes times, balances and versions, 32 of the 39
	// bytes of each transfer, beyond Memory bytes of them, on Linux; the system then has
	// in memory what is looked at. With "", and where there is no room, all is in memory.
	Folder string
	Memory int64
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

// Part is one of the three sources that are compared with one another.
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

// Judge takes its input in two steps: first the whole history (Op and Reserve
// in any order), then, in any order, the journal (Row, in any order) and the
// accounts (Account, by ascending id). Results may then be asked for, more
// than once. A Judge is not safe for concurrent use.
type Judge struct {
	config   Config
	ops      operations
	reserved map[int]uint64
	entries  entries
	// otherVersions are the operations that were acknowledged with other versions than their
	// first row has.
	otherVersions []operationAt
	// proof goes through the entries as they come; nil if none came yet, or if the history
	// went on meanwhile.
	proof *orderProof
	// searchable is how many entries are searched for what is wrong.
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

// account is one account, as read back and as the journal has it.
type account struct {
	balance, version int64
	// effect is credits minus debits; touched counts the journal's rows. All
	// sums wrap around like the machine's, so that equality still decides.
	effect, touched int64
	// proven is beside them, in the same line of the processor's cache.
	proven provenAccount
}

// New returns a judge without input. It returns an error if the configuration
// cannot be used.
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

// Close gives back the file that Config.Folder has. The judge must not be used any more;
// its results may be.
func (j *Judge) Close() error { return j.ops.spill.close() }

// Incomplete records that a part was not read to its end, or was damaged, and
// why. Nothing is then concluded from an absence in that part, and what would be
// valid by it is unknown. What is wrong stays wrong. A history that merely ends early (the run was cut or killed) is not
// incomplete, because reservations tell what may be missing from it. Of several
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
// killed, is unknown. Op.Values of a committed transfer may have what was
// acknowledged: the source's balance and version, then the destination's; the
// versions are then compared with the row's, and the balances with the order. The
// op is not kept.
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

// historyGrows guards against rows that were judged before the history was
// whole, which could be taken for foreign.
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
