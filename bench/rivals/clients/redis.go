package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"assay/driver/uri"
	"assay/workload"
	"assay/workload/bank"
)

// redisBank is the bank in the server's database 1, which it empties. A row is a string under
// a key, as driver/redis has it. A transfer is optimistic: what it reads is watched, and all
// that it writes is sent with MULTI and EXEC.
type redisBank struct {
	host      string
	transfers *bank.Transfers
}

func openRedis(address string, transfers *bank.Transfers) (rival, error) {
	a, err := uri.Parse(address, "redis://HOST:PORT/", "6379", "redis")
	if err != nil {
		return nil, err
	}
	return redisBank{a.Hosts[0], transfers}, nil
}

// connect is one connection with driver/redis's settings.
func (r redisBank) connect() *goredis.Conn {
	return goredis.NewClient(&goredis.Options{Addr: r.host, DB: 1, Protocol: 2, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		MaxRetries:               -1, DialerRetries: 1, PipelinePoolSize: -1, ConnMaxIdleTime: -1, ReadTimeout: -1, WriteTimeout: -1}).Conn()
}

func redisKey(table string, id int64) string {
	return "assay:bank:" + table + ":" + strconv.FormatInt(id, 10)
}

// redisRow is the value of a row: its numbers, in a variable length each.
func redisRow(numbers ...int64) string {
	var value []byte
	for _, n := range numbers {
		value = binary.AppendVarint(value, n)
	}
	return string(value)
}

func redisAccount(a account) string { return redisRow(a.id, a.balance, a.version) }

// readRedisAccount is the inverse of redisAccount.
func readRedisAccount(value any) (a account, err error) {
	text, _ := value.(string)
	rest := []byte(text)
	for _, into := range [...]*int64{&a.id, &a.balance, &a.version} {
		n, size := binary.Varint(rest)
		if size <= 0 {
			return a, fmt.Errorf("an account is %q", text)
		}
		*into, rest = n, rest[size:]
	}
	return a, nil
}

func (r redisBank) load(ctx context.Context) error {
	c := r.connect()
	if err := c.FlushDB(ctx).Err(); err != nil {
		return err
	}
	var rows []any
	for accounts, id := r.transfers.Accounts(), int64(1); id <= accounts.Len(); id++ {
		rows = append(rows, redisKey("account", id), redisAccount(account{id: id, balance: accounts.Opening(id)}))
		if len(rows) == 2000 || id == accounts.Len() {
			if err := c.MSet(ctx, rows...).Err(); err != nil {
				return err
			}
			rows = rows[:0]
		}
	}
	return c.Close()
}

func (r redisBank) client(ctx context.Context, n int) (operation, error) {
	c := r.connect()
	return func(seq uint64) (bool, error) {
		t := r.transfers.At(workload.OperationID(n, seq))
		first, second := ordered(t)
		keys := [...]string{redisKey("account", first.account), redisKey("account", second.account), redisKey("transfer", t.ID)}
		accounts, err := readRedis(ctx, c, keys[:])
		if err != nil {
			return false, err
		}
		journal, done := book(t, &accounts)
		if !done {
			return false, c.Process(ctx, goredis.NewCmd(ctx, "unwatch"))
		}
		write := c.TxPipeline()
		write.Do(ctx, "set", keys[0], redisAccount(accounts[0]))
		write.Do(ctx, "set", keys[1], redisAccount(accounts[1]))
		write.Do(ctx, "set", keys[2], redisRow(journal[:]...))
		_, err = write.Exec(ctx)
		if errors.Is(err, goredis.TxFailedErr) { // another has changed an account meanwhile
			return false, nil
		}
		return err == nil, err
	}, nil
}

// readRedis watches and reads the keys of two accounts and of a transfer that is not there, in
// one round trip.
func readRedis(ctx context.Context, c *goredis.Conn, keys []string) (accounts [2]account, err error) {
	read := c.Pipeline()
	read.Do(ctx, "watch", keys[0], keys[1], keys[2])
	found := read.MGet(ctx, keys...)
	if _, err := read.Exec(ctx); err != nil {
		return accounts, err
	}
	values := found.Val()
	if len(values) != len(keys) || values[2] != nil {
		return accounts, fmt.Errorf("%s is there already", keys[2])
	}
	for i := range accounts {
		if accounts[i], err = readRedisAccount(values[i]); err != nil {
			return accounts, err
		}
	}
	return accounts, nil
}
