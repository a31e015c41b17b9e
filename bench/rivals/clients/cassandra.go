package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"assay/driver/uri"
	"assay/workload/entity"
)

// cassandraEntities are workload entity's, half of the operations writes, with
// driver/cassandra's consistency. All clients share the connections.
type cassandraEntities struct {
	session *gocql.Session
	copies  int
	rows    int64
}

// loader is the client whose entities are there before the first operation, and recent how many of
// those that it wrote last a client reads.
const loader, recent = entity.MaxClient, 256

func openCassandra(address string, rows int64) (rival, error) {
	a, err := uri.Parse(address, "cassandra://HOST:PORT,HOST:PORT/", "9042", "cassandra")
	if err != nil {
		return nil, err
	}
	c := gocql.NewCluster(a.Hosts...)
	c.Timeout, c.Consistency = 0, gocql.Quorum
	c.MaxWaitSchemaAgreement = 30 * time.Second
	c.PoolConfig.HostSelectionPolicy = gocql.TokenAwareHostPolicy(gocql.RoundRobinHostPolicy())
	session, err := c.CreateSession()
	return cassandraEntities{session, min(len(a.Hosts), 3), rows}, err
}

const (
	cassandraInsert = "INSERT INTO rival.entity (id, name, age, description, address, phone, email) VALUES (?, ?, ?, ?, ?, ?, ?)"
	cassandraGet    = "SELECT id, name, age, description, address, phone, email FROM rival.entity WHERE id = ?"
)

func (c cassandraEntities) load(ctx context.Context) error {
	for _, text := range []string{"DROP KEYSPACE IF EXISTS rival",
		fmt.Sprintf("CREATE KEYSPACE rival WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': %d}", c.copies),
		"CREATE TABLE rival.entity (id uuid, name text, age int, description text, address text, phone text, email text, PRIMARY KEY (id))"} {
		if err := c.session.Query(text).ExecContext(ctx); err != nil {
			return err
		}
		if err := c.session.AwaitSchemaAgreement(ctx); err != nil {
			return err
		}
	}
	for seq := range uint64(c.rows) {
		if err := c.insert(ctx, loader, seq); err != nil {
			return err
		}
	}
	return nil
}

func (c cassandraEntities) insert(ctx context.Context, client int, seq uint64) error {
	key, _ := entity.Key(client, seq)
	e := entity.Make(seed, key)
	return c.session.Query(cassandraInsert, e.ID[:], e.Name, int64(e.Age), e.Description, e.Address, e.Phone, e.Email).ExecContext(ctx)
}

func (c cassandraEntities) client(ctx context.Context, n int) (operation, error) {
	random, written := rand.New(rand.NewPCG(seed, uint64(n))), uint64(0)
	return func(uint64) (bool, error) {
		draw := random.Uint64()
		if draw&1 == 0 {
			written++
			err := c.insert(ctx, n, written-1)
			return err == nil, err
		}
		key, _ := entity.Key(loader, random.Uint64N(uint64(c.rows)))
		if draw&2 == 0 && written > 0 { // one of its own, since clients share nothing here
			key, _ = entity.Key(n, written-1-random.Uint64N(min(written, recent)))
		}
		id := entity.IDOf(seed, key)
		var e entity.Entity
		err := c.session.Query(cassandraGet, id[:]).ScanContext(ctx, (*[16]byte)(&e.ID), &e.Name, &e.Age, &e.Description, &e.Address, &e.Phone, &e.Email)
		return err == nil, err
	}, nil
}
