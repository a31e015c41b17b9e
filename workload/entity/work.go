// Package entity is the workload of a web service's storage: entities of seven
// fields with realistic values are written and read by their id, in a mix that
// can be chosen, directly or through a service. Every read is compared with
// what was written, and every acknowledged entity must be there in the end as
// it was written.
//
// It is a preset of package keyvalue. What is kept to judge a run is a byte for
// each operation: a run of a million takes a megabyte, two while the slices grow.
//
// It must not know any driver, or the service.
package entity

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"strings"

	"github.com/google/uuid"

	"assay/load"
	"assay/workload"
	"assay/workload/definition"
	"assay/workload/keyvalue"
)

// FileState is the name of the saved entities in a run's folder.
const FileState = "entity.bin"

// Table is the table of the workload.
func Table() keyvalue.Table {
	return keyvalue.Table{Workload: Name, Name: "entity",
		Key: keyvalue.Column{Name: "id", Type: keyvalue.UUID},
		Columns: []keyvalue.Column{
			{Name: "name", Type: keyvalue.Text, Max: MaxName},
			{Name: "age", Type: keyvalue.Integer, Max: MaxAge},
			{Name: "description", Type: keyvalue.Text, Max: MaxDescription},
			{Name: "address", Type: keyvalue.Text, Max: MaxAddress},
			{Name: "phone", Type: keyvalue.Text, Max: MaxPhone},
			{Name: "email", Type: keyvalue.Text, Max: MaxEmail},
		}}
}

// Record is the entity as a record of Table.
func (e Entity) Record() keyvalue.Record {
	return keyvalue.Record{Key: e.ID, Values: []keyvalue.Value{e.Name, int64(e.Age), e.Description, e.Address, e.Phone, e.Email}}
}

// FromRecord is the inverse of Record, for records of Table.
func FromRecord(r keyvalue.Record) (e Entity) {
	e.ID, _ = r.Key.(uuid.UUID)
	age, _ := r.Values[1].(int64)
	e.Age = int(age)
	for i, into := range []*string{&e.Name, nil, &e.Description, &e.Address, &e.Phone, &e.Email} {
		if into != nil {
			*into, _ = r.Values[i].(string)
		}
	}
	return e
}

// preset is the workload of this configuration and seed.
func preset(c Config, seed uint64) *keyvalue.Preset {
	return &keyvalue.Preset{
		Table: Table(), MaxClient: loader - 1, Loader: loader, Loaded: c.Entities, AsWritten: true, Linearizable: true,
		Number: func(client int, seq uint64, _ int) (int64, bool) { return Key(client, seq) },
		Split: func(number int64) (client int, seq uint64, attempt int, ok bool) {
			if number < 0 || number >= 1<<keyBits {
				return 0, 0, 0, false
			}
			client, seq = SplitKey(number)
			return client, seq, 0, true
		},
		Key:    func(number int64) keyvalue.Value { return IDOf(seed, number) },
		Record: func(number int64) keyvalue.Record { return Make(seed, number).Record() },
		Observe: func(r keyvalue.Record) keyvalue.Observed {
			e := FromRecord(r)
			sum := SumOf(e)
			number, ok := KeyOf(seed, e.ID)
			if !ok {
				number = keyvalue.Impossible
			}
			return keyvalue.Observed{Number: number, Digest: keyvalue.Digest{sum.All, sum.Parts}}
		},
		Hashed: true,
		Unnumbered: func(key keyvalue.Value) keyvalue.Digest {
			id, _ := key.(uuid.UUID)
			return keyvalue.Digest{int64(binary.BigEndian.Uint64(id[:8])), int64(binary.BigEndian.Uint64(id[8:]))}
		},
		Magic: "ASSAYE02",
		Words: keyvalue.Words{One: "entity", Many: "entities", Digest: "sum"},
		Difference: func(got, want keyvalue.Digest) string {
			return "with another " + strings.Join(differing(got[1], want[1]), ", ") + " than was written"
		},
	}
}

// maxRecent bounds how many acknowledged keys are remembered to be read.
const maxRecent = 4096

// Work is a definition.Work.
type Work struct {
	*keyvalue.Work
	definition.NoObservers // the clients themselves read
	config                 Config
	seed                   uint64
}

// NewWork returns the work of this configuration and seed on a store of Table,
// which it owns from then on. It returns Config.Validate's error.
func NewWork(store keyvalue.Store, config Config, seed uint64) (*Work, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	return &Work{Work: keyvalue.NewWork(store, preset(config, seed), FileState, maxRecent), config: config, seed: seed}, nil
}

func (w *Work) Client(ctx context.Context, n int) (load.Client, error) {
	c := w.NewClient(n)
	if _, err := c.Session(ctx); err != nil {
		return nil, err
	}
	return &client{Client: c, config: w.config, seed: w.seed, number: n, recent: w.Recent,
		random: rand.New(rand.NewPCG(w.seed, uint64(n)))}, nil
}

// client is one client: it writes entities of its own and reads those of all.
type client struct {
	*keyvalue.Client
	config Config
	seed   uint64
	number int
	recent *keyvalue.Recent
	random *rand.Rand

	// Of the operation that is going on, for its next attempts.
	put    bool
	target keyvalue.Acknowledged
}

func (c *client) Attempt(ctx context.Context, seq uint64, attempt int) load.Answer {
	if attempt == 1 {
		c.choose(seq)
	}
	if c.put {
		return c.Insert(ctx, seq, attempt)
	}
	return c.Get(ctx, keyvalue.KindGet, c.target)
}

// choose decides what an operation does: whether it writes by the seed and its
// number alone, unless there is nothing to read; what is read also by what was
// acknowledged so far.
func (c *client) choose(seq uint64) {
	draw := float64(workload.Mix(workload.Mix(c.seed^uint64(c.number)<<seqBits)^seq)>>11) / (1 << 53)
	if c.put = draw < c.config.WriteShare; c.put {
		return
	}
	// What was loaded and what was written since are read alike often, so that
	// a run does not end reading from the cache alone.
	if c.config.Entities > 0 && c.random.Uint64()&1 == 0 {
		c.target = c.loaded()
		return
	}
	target, ok := c.recent.Choose(c.random, maxRecent)
	if !ok && c.config.Entities > 0 {
		target, ok = c.loaded(), true
	}
	c.target, c.put = target, !ok
}

// loaded chooses an entity that was there before the run.
func (c *client) loaded() keyvalue.Acknowledged {
	key, _ := Key(loader, c.random.Uint64N(uint64(c.config.Entities)))
	return keyvalue.Acknowledged{Number: key}
}
