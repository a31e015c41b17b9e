package ledger

import (
	"fmt"
	"math"

	"assay/check"
)

// Row takes one row of the journal, however wrong.
func (j *Judge) Row(r Row) {
	if j.rowsRead++; j.rowsRead == 1 {
		j.proof = newOrderProof(j)
	}
	j.applyRow(r)
	block, i, sound := j.operationOf(r)
	if sound && r.Source != r.Destination {
		j.addEntry(r, block, i)
	} else {
		j.excludeRow(r)
	}
}

// operationOf finds the operation of a row. The row is sound if it is the operation's first and
// equals the request. b may then still be nil, if the history is incomplete.
func (j *Judge) operationOf(r Row) (b *block, i int, sound bool) {
	client, seq, ok := j.config.Split(r.ID)
	if !ok {
		j.foreignRow(r, "no client can have made its id")
		return nil, 0, false
	}
	b, i = j.ops.find(client, seq)
	if b == nil || !b.states[i].has(recorded) {
		if seq >= j.reserved[client] {
			return nil, 0, j.unreservedRow(r, client, seq)
		}
		b, i = j.ops.make(client, seq) // reserved, so within the limits
	}
	m := &b.states[i]
	if m.has(other) {
		j.foreignRow(r, fmt.Sprintf("operation %d of client %d is not a transfer", seq, client))
		return nil, 0, false
	}
	if m.has(acknowledged) && m.rows() == 0 && b.page[i].versions != lowest(r.SourceVersion, r.DestinationVersion) {
		j.otherVersions = append(j.otherVersions, operationAt{b, i})
	}
	*m = m.addRow()
	asked := j.compare(r)
	return b, i, asked && m.rows() == 1
}

// applyRow adds the row to its two accounts, requested or not: accounts are compared with the
// journal as it is.
func (j *Judge) applyRow(r Row) {
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
	if id < 1 || id > int64(len(j.accounts)) {
		return nil
	}
	return &j.accounts[id-1]
}

// unreservedRow takes a row of an operation without a reservation. If the history is incomplete,
// the reservation may be missing, and the row is as sound as it looks.
func (j *Judge) unreservedRow(r Row, client int, seq uint64) bool {
	if j.incomplete[History] != "" {
		return j.compare(r)
	}
	j.foreignRow(r, fmt.Sprintf("client %d never started operation %d", client, seq))
	return false
}

func (j *Judge) foreignRow(r Row, why string) {
	j.transfers.Add(kindForeign, func() check.Evidence {
		return check.Evidence{
			Text: fmt.Sprintf("journal row %d (%d from account %d to %d) is nobody's: %s",
				r.ID, r.Amount, r.Source, r.Destination, why),
			Fields: rowFields(r),
		}
	})
}

// compare reports whether a row is the transfer of its id.
func (j *Judge) compare(r Row) bool {
	source, destination, amount := j.config.Expect(r.ID)
	if r.Source == source && r.Destination == destination && r.Amount == amount {
		return true
	}
	j.transfers.Add(kindAltered, func() check.Evidence {
		fields := rowFields(r)
		fields["expected_source"], fields["expected_destination"] = source, destination
		fields["expected_amount"] = amount
		return check.Evidence{
			Text: fmt.Sprintf("journal row %d says %d from account %d to %d; asked for was %d from account %d to %d",
				r.ID, r.Amount, r.Source, r.Destination, amount, source, destination),
			Fields: fields,
		}
	})
	return false
}

func rowFields(r Row) map[string]int64 {
	return map[string]int64{"id": r.ID, "source": r.Source, "destination": r.Destination, "amount": r.Amount,
		"source_version": r.SourceVersion, "destination_version": r.DestinationVersion}
}

const (
	debit = iota
	credit
	sides
)

// entry is a journal row for the check of order: account and version by side. A side with an
// unknown account or an impossible version is left out, with 0 for both.
type entry struct{ account, version [sides]uint32 }

const (
	unrecordedBit = 1 << 31
	// maxEntries keeps the numbers of entries and of the audits after them within 32 bits, and
	// those of the unrecorded, which are fewer, within 31.
	maxEntries = 1 << 30
	// maxSearched keeps the numbers of slots within 32 bits, even with two slots for each row.
	maxSearched = 1 << 29
	maxBlocks   = unrecordedBit >> blockBits
)

// entries are the rows for the check of order, as read. Only the operation of a row is kept. An
// entry has the accounts and the amount of the operation's request, and its versions are in the
// operation's page.
type entries struct {
	// owners hold the number of the operation's block and the position there; with
	// unrecordedBit, an index of unrecorded.
	owners []uint32
	// unrecorded are rows of operations missing from an incomplete history.
	unrecorded []unrecordedRow
	// written are the entries in full, for a search for errors, which reads each often.
	written []entry
	// excluded are the accounts, by id-1, that may lack a version because a row of theirs is no
	// entry or had an impossible version. That is evidence already.
	excluded bits
	// tooMany counts the rows without room.
	tooMany int64
}

type unrecordedRow struct {
	id       int64
	versions [sides]uint32
}

func (e *entries) len() uint32 { return uint32(len(e.owners)) }

// excludeRow excludes from the check of versions the accounts of a row that the check of transfers
// reports, or that moves money from an account to itself. So one error is not reported three
// times.
func (j *Judge) excludeRow(r Row) {
	accounts := []int64{r.Source, r.Destination}
	if _, _, ok := j.config.Split(r.ID); ok {
		source, destination, _ := j.config.Expect(r.ID)
		accounts = append(accounts, source, destination)
	}
	for _, id := range accounts {
		j.excludeAccount(id)
	}
}

func (j *Judge) excludeAccount(id int64) {
	if j.account(id) == nil {
		return
	}
	if j.entries.excluded == nil {
		j.entries.excluded = newBits(len(j.accounts))
	}
	j.entries.excluded.set(uint32(id - 1))
}

// addEntry keeps a row of operation i of block b for order; b is nil if the history lacks it.
func (j *Judge) addEntry(r Row, b *block, i int) {
	if j.entries.len() == maxEntries || b != nil && b.number >= maxBlocks {
		j.entries.tooMany++
		return
	}
	versions := [sides]uint32{debit: j.versionOf(r, r.Source, r.SourceVersion), credit: j.versionOf(r, r.Destination, r.DestinationVersion)}
	owner := unrecordedBit | uint32(len(j.entries.unrecorded))
	if b != nil {
		owner = b.number<<blockBits | uint32(i)
		b.page[i].versions = versions
	} else {
		j.entries.unrecorded = append(j.entries.unrecorded, unrecordedRow{r.ID, versions})
	}
	if j.entries.owners == nil { // one row of each operation, so that nothing is copied later
		j.entries.owners = make([]uint32, 0, len(j.ops.list)*blockOps)
	}
	j.entries.owners = append(j.entries.owners, owner)
	if j.proof != nil && b != nil {
		j.proof.enter(transfer{owner, r.Source, r.Destination, r.Amount})
	}
}

// versionOf returns the version that a row gave an account; 0 if the side is left out.
func (j *Judge) versionOf(r Row, account, version int64) uint32 {
	switch {
	case j.account(account) == nil:
		return 0
	case version < 1:
		j.order.Add(KindImpossibleVersion, func() check.Evidence {
			return check.Evidence{
				Text:   fmt.Sprintf("%s gave account %d version %d; versions count from 1", j.transfer(r.ID), account, version),
				Fields: map[string]int64{"id": r.ID, "account": account, "version": version},
			}
		})
		j.excludeAccount(account)
		return 0
	default:
		return uint32(min(version, math.MaxUint32))
	}
}

func (j *Judge) writeEntries() {
	e := &j.entries
	if len(e.written) == len(e.owners) {
		return
	}
	e.written = make([]entry, len(e.owners))
	for n := range e.len() {
		e.written[n] = j.makeEntry(n)
	}
}

// entry returns entry n, which must be written out.
func (j *Judge) entry(n uint32) *entry { return &j.entries.written[n] }

func (j *Judge) makeEntry(n uint32) entry {
	var e entry
	if b, i := j.operation(n); b != nil {
		e.version = b.page[i].versions
	} else {
		e.version = j.entries.unrecorded[j.entries.owners[n]&^unrecordedBit].versions
	}
	source, destination, _ := j.config.Expect(j.id(n))
	for side, account := range [sides]int64{debit: source, credit: destination} {
		if e.version[side] > 0 {
			e.account[side] = uint32(account)
		}
	}
	return e
}

func (j *Judge) id(n uint32) int64 {
	b, i := j.operation(n)
	if b == nil {
		return j.entries.unrecorded[j.entries.owners[n]&^unrecordedBit].id
	}
	return j.config.ID(b.key.client(), b.key.seq(i))
}

// operation returns the block and position of entry n; b is nil if the history lacks it.
func (j *Judge) operation(n uint32) (*block, int) {
	owner := j.entries.owners[n]
	if owner&unrecordedBit != 0 {
		return nil, 0
	}
	return j.ops.at(owner)
}

func (j *Judge) span(n uint32) (first, end int64) {
	b, i := j.operation(n)
	if b == nil {
		return math.MinInt64, math.MaxInt64
	}
	return b.page[i].span()
}

func (j *Judge) transfer(id int64) string {
	client, seq, _ := j.config.Split(id) // others have no entry
	return fmt.Sprintf("transfer %d (client %d, operation %d)", id, client, seq)
}

// bits is a set of small numbers. The nil set is empty.
type bits []uint64

func newBits(n int) bits { return make(bits, (n+63)/64) }

func (b bits) set(i uint32)      { b[i/64] |= 1 << (i % 64) }
func (b bits) has(i uint32) bool { return b != nil && b[i/64]&(1<<(i%64)) != 0 }
