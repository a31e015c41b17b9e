package mem

import (
	"context"
	"strings"

	"assay/history"
	"assay/workload"
	"assay/workload/bank"
	"assay/workload/keyvalue"
)

// The null store answers every call at once and keeps nothing but the marker and the
// lease. What a run on it takes is what assay itself takes: generating, scheduling,
// recording. Nothing can be judged of it, which workload.SettingUnjudged says.

// unjudged is why.
const unjudged = "the null store answers at once and keeps nothing"

// nullTarget is the target of the reference database behind a null store, which has
// only marker and lease. It returns *workload.OptionError for another address than
// null://.
func nullTarget(target workload.Target) (workload.Target, error) {
	if rest, found := strings.CutPrefix(target.Address, "null:"); !found || strings.Trim(rest, "/") != "" {
		return target, &workload.OptionError{Option: "address", Value: workload.Redact(target.Address), Want: "null://"}
	}
	target.Address = "mem://"
	return target, nil
}

// nothing is what the null Stores of all workloads have in common.
type nothing struct{}

func (nothing) Describe(context.Context) (workload.Product, error) {
	return workload.Product{
		Name: "the null store", Version: "1", Embedded: true,
		Settings: []workload.Setting{{Name: workload.SettingUnjudged, Value: unjudged}},
		Topology: workload.Topology{Nodes: 1},
	}, nil
}

func (nothing) Find(context.Context) (*workload.Leftover, error) { return nil, nil }

func (nothing) Size(context.Context) (workload.Size, error) { return workload.Size{}, nil }

// nullReply is the answer to everything.
func nullReply() workload.Reply { return workload.Reply{Outcome: history.Committed} }

type nullBank struct {
	nothing // less deep than the Store's, so that its methods are taken
	markedBank
}

type markedBank struct{ bank.Store }

// OpenNullBank returns a Store that answers at once and keeps nothing.
func OpenNullBank(ctx context.Context, target workload.Target) (bank.Store, error) {
	target, err := nullTarget(target)
	if err != nil {
		return nil, err
	}
	store, err := OpenBank(ctx, target)
	if err != nil {
		return nil, err
	}
	return &nullBank{markedBank: markedBank{store}}, nil
}

func (s *nullBank) LoadAccounts(context.Context, []bank.Account) error { return nil }

func (s *nullBank) Read(context.Context, func(bank.Account) error, func(bank.Entry) error) error {
	return nil
}

func (s *nullBank) Session(context.Context) (bank.Session, error) { return nullBankSession{}, nil }

type nullBankSession struct{}

func (nullBankSession) Transfer(context.Context, bank.Transfer) bank.Reply {
	return bank.Reply{Reply: nullReply()}
}

func (nullBankSession) Close() {}

type nullKeyValue struct {
	nothing
	markedKeyValue
}

type markedKeyValue struct{ keyvalue.Store }

// OpenNullKeyValue is as OpenNullBank. No read finds anything.
func OpenNullKeyValue(ctx context.Context, target workload.Target, t keyvalue.Table) (keyvalue.Store, error) {
	target, err := nullTarget(target)
	if err != nil {
		return nil, err
	}
	store, err := OpenKeyValue(ctx, target, t)
	if err != nil {
		return nil, err
	}
	return &nullKeyValue{markedKeyValue: markedKeyValue{store}}, nil
}

func (s *nullKeyValue) Read(context.Context, func(keyvalue.Record) error) error { return nil }

func (s *nullKeyValue) Session(context.Context) (keyvalue.Session, error) {
	return nullKeyValueSession{}, nil
}

type nullKeyValueSession struct{}

func (nullKeyValueSession) Insert(context.Context, keyvalue.Record) keyvalue.Reply {
	return keyvalue.Reply{Reply: nullReply()}
}

func (nullKeyValueSession) Get(context.Context, keyvalue.Value) keyvalue.Reply {
	return keyvalue.Reply{Reply: nullReply()}
}

func (nullKeyValueSession) Close() {}
