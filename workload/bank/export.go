package bank

import (
	"fmt"

	"assay/history"
	"assay/history/exchange"
	"assay/workload"
	"assay/workload/definition"
)

type exported struct{ transfers *Transfers }

func (c *Config) Export(seed uint64, test string) (definition.Exported, error) {
	if test != "" {
		return nil, fmt.Errorf("holds no transactions of test %s", test)
	}
	return exported{NewTransfers(*c, seed)}, nil
}

func (e exported) Has(kind uint8) (is bool, other string) {
	return kind == KindTransfer, "audits of accounts"
}

func (e exported) Rows() int64 { return e.transfers.Accounts().Len() }

// Opening writes the loaded accounts, so that a checker knows the total.
func (e exported) Opening(to *exchange.Operation) bool {
	to.Function = exchange.ReadAccounts
	accounts := e.transfers.Accounts()
	for id := int64(1); id <= accounts.Len(); id++ {
		to.Accounts = append(to.Accounts, exchange.Account{ID: exchange.Int64(id), Balance: accounts.Opening(id)})
	}
	return true
}

func (e exported) Attempt(op *history.Op, to *exchange.Operation) error {
	t := e.transfers.At(workload.OperationID(op.Client, op.Seq))
	to.Function = exchange.Transfer
	to.Movement = exchange.Movement{From: exchange.Int64(t.Source), To: exchange.Int64(t.Destination), Amount: t.Amount}
	return nil
}

func (e exported) Last(state string, to *exchange.Operation) error {
	to.Function = exchange.ReadAccounts
	return Replay(state, func(a Account) error {
		to.Accounts = append(to.Accounts, exchange.Account{ID: exchange.Int64(a.ID), Balance: a.Balance})
		return nil
	}, func(Entry) error { return nil })
}
