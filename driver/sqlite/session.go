package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"assay/history"
	"assay/workload"
	"assay/workload/bank"
)

// session is one client's of the bank.
type session struct {
	*connection
	known, exists, debit, credit, insert *sql.Stmt
}

// Session implements bank.Store.
func (s *store) Session(ctx context.Context) (bank.Session, error) {
	l, err := s.dial(ctx,
		"SELECT 1 FROM assay_transfer WHERE id = ?",
		"SELECT 1 FROM assay_account WHERE id = ?",
		`UPDATE assay_account SET balance = balance - ?1, version = version + 1
			WHERE id = ?2 AND balance >= ?1 RETURNING balance, version`,
		`UPDATE assay_account SET balance = balance + ?1, version = version + 1
			WHERE id = ?2 RETURNING balance, version`,
		`INSERT INTO assay_transfer (id, source, destination, amount, source_version, destination_version)
			VALUES (?, ?, ?, ?, ?, ?)`)
	if err != nil {
		return nil, err
	}
	p := l.statements
	return &session{connection: l, known: p[0], exists: p[1], debit: p[2], credit: p[3], insert: p[4]}, nil
}

// Transfer implements bank.Session.
func (n *session) Transfer(ctx context.Context, t bank.Transfer) bank.Reply {
	var r bank.Reply
	e := n.do(ctx, &run{writes: true, doing: "transfer", work: func(ctx context.Context) (bool, error) {
		var err error
		r, err = n.work(ctx, t)
		return r.Outcome == history.Committed, err
	}})
	if !e.refused && (e.left || e.Outcome != history.Committed) {
		return bank.Reply{Reply: e.Reply}
	}
	r.Broken = e.Broken
	return r
}

// work does everything between BEGIN and COMMIT; a Committed reply means that
// COMMIT may follow.
func (n *session) work(ctx context.Context, t bank.Transfer) (bank.Reply, error) {
	if there, err := found(n.known.QueryRowContext(ctx, t.ID)); err != nil {
		return bank.Reply{}, err
	} else if there {
		return bank.Reply{Reply: workload.Reply{Outcome: history.Failed, Duplicate: true, Class: workload.ClassDuplicate}}, nil
	}
	r := bank.Reply{Reply: workload.Reply{Outcome: history.Committed}}
	err := n.debit.QueryRowContext(ctx, t.Amount, t.Source).Scan(&r.Source.Balance, &r.Source.Version)
	if errors.Is(err, sql.ErrNoRows) {
		there, err := found(n.exists.QueryRowContext(ctx, t.Source))
		class := bank.ClassNoAccount
		if there {
			class = bank.ClassNoFunds
		}
		return bank.Reply{Reply: workload.Reply{Outcome: history.Rejected, Class: class}}, err
	}
	if err != nil {
		return r, err
	}
	err = n.credit.QueryRowContext(ctx, t.Amount, t.Destination).Scan(&r.Destination.Balance, &r.Destination.Version)
	if errors.Is(err, sql.ErrNoRows) {
		return bank.Reply{Reply: workload.Reply{Outcome: history.Rejected, Class: bank.ClassNoAccount}}, nil
	}
	if err != nil {
		return r, err
	}
	_, err = n.insert.ExecContext(ctx, t.ID, t.Source, t.Destination, t.Amount, r.Source.Version, r.Destination.Version)
	return r, err
}

// found reports whether a query for one number gave a row.
func found(row *sql.Row) (bool, error) {
	var one int
	switch err := row.Scan(&one); {
	case errors.Is(err, sql.ErrNoRows):
		return false, nil
	default:
		return err == nil, err
	}
}
