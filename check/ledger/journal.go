package ledger

import (
	"fmt"

	"assay/check"
)

// Row takes one row of the journal, however wrong.
func (j *Judge) Row(r Row) {
	j.rowsRead++
	j.applyRow(r)
	block, i, sound := j.operationOf(r)
	switch {
	case !j.config.Order:
	case sound && r.Source != r.Destination:
		j.addEntry(r, block, i)
	default:
		j.excludeRow(r)
	}
}

// operationOf finds the operation that a row belongs to. The row is sound if it
// is the operation's first and as asked for; the block may then still be nil,
// if the history is incomplete.
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
	if m.has(acknowledged) {
		b.withdraw(i, r.SourceVersion, r.DestinationVersion)
	}
	*m = m.addRow()
	asked := j.compare(r)
	return b, i, asked && m.rows() == 1
}

// applyRow adds the row to the two accounts that it names, whether or not the
// transfer was asked for: the accounts are compared with the journal as it is.
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

// unreservedRow is a row of an operation that nobody may have started. If the
// history is incomplete, its reservation may be what is missing, and the row is
// as sound as it looks.
func (j *Judge) unreservedRow(r Row, client int, seq uint64) bool {
	if j.incomplete[History] != "" {
		return j.compare(r)
	}
	j.foreignRow(r, fmt.Sprintf("client %d never started operation %d", client, seq))
	return false
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

// compare reports whether a row is the transfer that its id stands for.
func (j *Judge) compare(r Row) bool {
	source, destination, amount := j.config.Expect(r.ID)
	if r.Source == source && r.Destination == destination && r.Amount == amount {
		return true
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
	return false
}

func rowFields(r Row) map[string]int64 {
	return map[string]int64{"id": r.ID, "source": r.Source, "destination": r.Destination, "amount": r.Amount,
		"source_version": r.SourceVersion, "destination_version": r.DestinationVersion}
}
