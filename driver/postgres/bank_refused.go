package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"assay/history"
	"assay/workload"
	"assay/workload/bank"
)

// refused says how a transfer ended that did not commit, and leaves its
// transaction.
func (s *bankSession) refused(ctx context.Context, t bank.Transfer, err error, at stage) bank.Reply {
	if errors.Is(err, errRolledBack) {
		return bank.Reply{Reply: workload.Reply{Outcome: history.Failed, Class: workload.ClassOther, Err: err, Broken: s.conn.IsClosed()}}
	}
	reply := bank.Reply{Reply: classify(err, at)}
	if reply.Outcome != history.Failed {
		return reply
	}
	refusal := refusalOf(err)
	if refusal == workload.ClassDuplicate {
		reply.Duplicate, reply.Class = true, refusal
	}
	if refusal == "" || refusal == workload.ClassDuplicate {
		reply.Broken = s.leave(ctx) != nil
		return reply
	}
	// Refused for want of funds or of an account: or is it the repetition of a
	// transfer that has already taken them? The journal knows. Whatever it says,
	// and even if it cannot be asked, this attempt had no effect.
	there, err := s.leaveAndFind(ctx, t.ID)
	switch {
	case err != nil:
		reply.Class, reply.Err, reply.Broken = classify(err, working).Class, err, true
	case there:
		reply.Class, reply.Duplicate = workload.ClassDuplicate, true
	default:
		reply.Outcome, reply.Class = history.Rejected, refusal
	}
	return reply
}

// refusalOf names the rule of the bank that a violated constraint stands for,
// "" if none.
func refusalOf(err error) string {
	var answer *pgconn.PgError
	switch {
	case !errors.As(err, &answer):
		return ""
	case answer.Code == codeUniqueViolation && answer.ConstraintName == constraintJournal:
		return workload.ClassDuplicate
	case answer.Code == codeCheckViolation && answer.ConstraintName == constraintFunds:
		return bank.ClassNoFunds
	case answer.Code == codeCheckViolation &&
		(answer.ConstraintName == constraintSource || answer.ConstraintName == constraintDestination):
		return bank.ClassNoAccount
	case answer.Code == codeNotNullViolation && answer.TableName == "transfer" &&
		(answer.ColumnName == "source_version" || answer.ColumnName == "destination_version"):
		return bank.ClassNoAccount
	}
	return ""
}

// leaveAndFind ends a failed transaction and looks for a journal row, in one
// round trip.
func (s *bankSession) leaveAndFind(ctx context.Context, id int64) (there bool, err error) {
	p := s.conn.StartPipeline(ctx)
	s.send(p, undo)
	s.send(p, find, id)
	if err = p.Sync(); err == nil {
		if _, err = readAnswer(p); err == nil {
			var tag pgconn.CommandTag
			tag, err = readAnswer(p)
			there = tag.RowsAffected() > 0
		}
	}
	return there, errors.Join(err, p.Close())
}
