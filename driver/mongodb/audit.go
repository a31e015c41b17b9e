package mongodb

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"assay/workload/bank"
)

var _ bank.Auditor = (*bankStore)(nil)

func (s *bankStore) Audit(ctx context.Context, ids []int64, states []bank.State) error {
	if len(ids) > bank.MaxAudited || len(states) < len(ids) {
		return fmt.Errorf("mongodb: audit of %d accounts into %d states; at most %d", len(ids), len(states), bank.MaxAudited)
	}
	if len(ids) == 0 {
		return nil
	}
	return s.reading(ctx, func(ctx context.Context) error {
		for i, id := range ids {
			states[i] = bank.State{}
			document, err := s.accounts.FindOne(ctx, byID(id)).Raw()
			if errors.Is(err, mongo.ErrNoDocuments) {
				continue
			}
			if err != nil {
				return err
			}
			account, err := accountOf(document)
			if err != nil {
				return err
			}
			states[i] = bank.State{Balance: account.Balance, Version: account.Version}
		}
		return nil
	})
}

// AuditAll implements bank.Auditor. The server adds up.
func (s *bankStore) AuditAll(ctx context.Context) (bank.Totals, error) {
	var t bank.Totals
	err := s.reading(ctx, func(ctx context.Context) error {
		sum := func(of any) bson.D { return bson.D{{Key: "$sum", Value: of}} }
		cursor, err := s.accounts.Aggregate(ctx, bson.A{bson.D{{Key: "$group", Value: bson.D{{Key: "_id", Value: nil},
			{Key: "accounts", Value: sum(1)}, {Key: "balance", Value: sum("$balance")}, {Key: "versions", Value: sum("$version")}}}}})
		if err != nil {
			return err
		}
		defer cursor.Close(context.WithoutCancel(ctx))
		for cursor.Next(ctx) { // once, or not at all if there are no accounts
			err := integers(cursor.Current, accountCollection,
				[]string{"accounts", "balance", "versions"}, []*int64{&t.Accounts, &t.Balance, &t.Versions})
			if err != nil {
				return err
			}
		}
		return cursor.Err()
	})
	if err != nil {
		return bank.Totals{}, err
	}
	return t, nil
}
