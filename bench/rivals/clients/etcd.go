package main

import (
	"context"
	"encoding/binary"
	"fmt"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	tuples "assay/driver/ordered"
	"assay/driver/uri"
	"assay/workload"
	"assay/workload/bank"
)

// etcdBank is the bank under the prefix ("rival", "bank"), by the stubs of etcd's own API, with
// driver/etcd's keys and values. A transfer is optimistic: one request reads all its rows, and
// one writes them if none has changed. The mark of assay, which its commits compare too, is not
// here.
type etcdBank struct {
	hosts     []string
	keys      tuples.Layout
	transfers *bank.Transfers
}

func openEtcd(address string, transfers *bank.Transfers) (rival, error) {
	a, err := uri.Parse(address, "etcd://HOST:PORT,HOST:PORT/", "2379", "etcd")
	if err != nil {
		return nil, err
	}
	return etcdBank{a.Hosts, tuples.NewLayout("rival", "bank"), transfers}, nil
}

// connect makes the connection of client number n, to one of the members.
func (e etcdBank) connect(n int) (pb.KVClient, error) {
	c, err := grpc.NewClient("passthrough:///"+e.hosts[n%len(e.hosts)], grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDisableRetry(), grpc.WithNoProxy())
	if err != nil {
		return nil, err
	}
	return pb.NewKVClient(c), nil
}

// etcdVersion begins each value, before its numbers in eight bytes each.
const etcdVersion = 1

func etcdRow(numbers ...int64) []byte {
	value := []byte{etcdVersion}
	for _, n := range numbers {
		value = binary.BigEndian.AppendUint64(value, uint64(n))
	}
	return value
}

func etcdAccount(a account) []byte { return etcdRow(a.balance, a.version) }

// readEtcdAccount is the inverse of etcdAccount.
func readEtcdAccount(id int64, value []byte) (a account, err error) {
	if len(value) != len(etcdAccount(a)) || value[0] != etcdVersion {
		return a, fmt.Errorf("account %d is %x", id, value)
	}
	return account{id, int64(binary.BigEndian.Uint64(value[1:])), int64(binary.BigEndian.Uint64(value[9:]))}, nil
}

func etcdPut(key, value []byte) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: key, Value: value}}}
}

// etcdRows are as many as a request takes (--max-txn-ops).
const etcdRows = 128

func (e etcdBank) load(ctx context.Context) error {
	kv, err := e.connect(0)
	if err != nil {
		return err
	}
	begin, end := e.keys.Bounds()
	if _, err := kv.DeleteRange(ctx, &pb.DeleteRangeRequest{Key: begin, RangeEnd: end}); err != nil {
		return err
	}
	part := &pb.TxnRequest{}
	for accounts, id := e.transfers.Accounts(), int64(1); id <= accounts.Len(); id++ {
		part.Success = append(part.Success, etcdPut(e.keys.Key("account", id), etcdAccount(account{id: id, balance: accounts.Opening(id)})))
		if len(part.Success) == etcdRows || id == accounts.Len() {
			if _, err := kv.Txn(ctx, part); err != nil {
				return err
			}
			part = &pb.TxnRequest{}
		}
	}
	return nil
}

func (e etcdBank) client(ctx context.Context, n int) (operation, error) {
	kv, err := e.connect(n)
	if err != nil {
		return nil, err
	}
	return func(seq uint64) (bool, error) {
		t := e.transfers.At(workload.OperationID(n, seq))
		first, second := ordered(t)
		keys := [...][]byte{e.keys.Key("account", first.account), e.keys.Key("account", second.account), e.keys.Key("transfer", t.ID)}
		found, err := readEtcd(ctx, kv, keys[:])
		if err != nil {
			return false, err
		}
		var accounts [2]account
		for i, id := range [...]int64{first.account, second.account} {
			if accounts[i], err = readEtcdAccount(id, found[i].Value); err != nil {
				return false, err
			}
		}
		journal, done := book(t, &accounts)
		if !done {
			return false, nil
		}
		commit := &pb.TxnRequest{}
		for i, value := range [...][]byte{etcdAccount(accounts[0]), etcdAccount(accounts[1]), etcdRow(journal[1:]...)} {
			commit.Compare = append(commit.Compare, &pb.Compare{Key: keys[i], Target: pb.Compare_MOD, Result: pb.Compare_EQUAL,
				TargetUnion: &pb.Compare_ModRevision{ModRevision: found[i].ModRevision}})
			commit.Success = append(commit.Success, etcdPut(keys[i], value))
		}
		answer, err := kv.Txn(ctx, commit)
		return err == nil && answer.Succeeded, err // not if another has changed an account meanwhile
	}, nil
}

// readEtcd reads keys by one request. One that is not there has the revision 0 and no value.
func readEtcd(ctx context.Context, kv pb.KVClient, keys [][]byte) ([]*mvccpb.KeyValue, error) {
	read := &pb.TxnRequest{}
	for _, key := range keys {
		read.Success = append(read.Success, &pb.RequestOp{Request: &pb.RequestOp_RequestRange{RequestRange: &pb.RangeRequest{Key: key}}})
	}
	answer, err := kv.Txn(ctx, read)
	if err != nil {
		return nil, err
	}
	if len(answer.Responses) != len(keys) {
		return nil, fmt.Errorf("%d keys were asked for, and %d answered", len(keys), len(answer.Responses))
	}
	found := make([]*mvccpb.KeyValue, len(keys))
	for i, one := range answer.Responses {
		found[i] = &mvccpb.KeyValue{}
		for _, there := range one.GetResponseRange().GetKvs() {
			found[i] = there
		}
	}
	return found, nil
}
