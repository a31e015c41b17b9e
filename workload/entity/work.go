// Package entity is the workload of a web service's storage. Entities of seven realistic fields
// are written and read by id, directly or through a service. Every read is compared with what
// was written, and every acknowledged entity must be there in the end as written.
//
// It is a preset of package keyvalue. The judge takes a byte per operation, two while slices
// grow.
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
	"assay/store"
	"assay/workload"
	"assay/workload/definition"
	"assay/workload/keyvalue"
)

// FileState is the saved state's name in a run's folder.
const FileState = "entity.bin"

// Schema returns the table.
func Schema() store.Schema {
	return store.Schema{Workload: Name, Reads: true, Tables: []store.Table{{Name: "entity", Columns: []store.Column{
		{Name: "id", Type: store.UUID},
		{Name: "name", Type: store.String, Length: MaxName},
		{Name: "age", Narrow: true},
		{Name: "description", Type: store.String, Length: MaxDescription},
		{Name: "address", Type: store.String, Length: MaxAddress},
		{Name: "phone", Type: store.String, Length: MaxPhone},
		{Name: "email", Type: store.String, Length: MaxEmail},
	}}}}
}

// Values are the columns of the entity's row.
func (e Entity) Values() []store.Value {
	return []store.Value{store.OfBytes(e.ID[:]), store.OfText(e.Name), store.OfInt(int64(e.Age)),
		store.OfText(e.Description), store.OfText(e.Address), store.OfText(e.Phone), store.OfText(e.Email)}
}

// Of returns the entity of a row of all columns.
func Of(row store.Row) (e Entity, err error) {
	var id []byte
	if err = row.Scan(&id, &e.Name, &e.Age, &e.Description, &e.Address, &e.Phone, &e.Email); err != nil {
		return e, err
	}
	e.ID, err = uuid.FromBytes(id)
	return e, err
}

func preset(c Config, seed uint64) *keyvalue.Preset {
	return &keyvalue.Preset{
		Schema: Schema(), MaxClient: loader - 1, Loader: loader, Loaded: c.Entities, AsWritten: true, Linearizable: true,
		Number: func(client int, seq uint64, _ int) (int64, bool) { return Key(client, seq) },
		Split: func(number int64) (client int, seq uint64, attempt int, ok bool) {
			if number < 0 || number >= 1<<keyBits {
				return 0, 0, 0, false
			}
			client, seq = SplitKey(number)
			return client, seq, 0, true
		},
		Key: func(number int64) store.Value {
			id := IDOf(seed, number)
			return store.OfBytes(id[:])
		},
		Record: func(number int64) []store.Value { return Make(seed, number).Values() },
		Digest: func(number int64) keyvalue.Digest { return digest(Make(seed, number)) },
		Observe: func(row store.Row) (got keyvalue.Observed, err error) {
			e, err := Of(row)
			number, ok := KeyOf(seed, e.ID)
			if !ok {
				number = keyvalue.Impossible
			}
			key := keyvalue.Digest{int64(binary.BigEndian.Uint64(e.ID[:8])), int64(binary.BigEndian.Uint64(e.ID[8:]))}
			return keyvalue.Observed{Number: number, Digest: digest(e), Key: key}, err
		},
		Hashed: true, Unnumbered: true,
		Magic: "ASSAYE02",
		Words: keyvalue.Words{One: "entity", Many: "entities", Digest: "sum"},
		Difference: func(got, want keyvalue.Digest) string {
			return "with another " + strings.Join(differing(got[1], want[1]), ", ") + " than was written"
		},
	}
}

func digest(e Entity) keyvalue.Digest {
	sum := SumOf(e)
	return keyvalue.Digest{sum.All, sum.Parts}
}

// maxRecent bounds the keys that readers choose from.
const maxRecent = 4096

type work struct {
	*keyvalue.Work
	definition.NoObservers // the clients themselves read
	config                 Config
	seed                   uint64
}

func (w *work) Client(ctx context.Context, n int) (load.Client, error) {
	c := w.NewClient(n)
	if _, err := c.Session(ctx); err != nil {
		return nil, err
	}
	return &client{Client: c, config: w.config, seed: w.seed, number: n, recent: w.Recent,
		random: rand.New(rand.NewPCG(w.seed, uint64(n)))}, nil
}

// client writes its own entities and reads those of all clients.
type client struct {
	*keyvalue.Client
	config Config
	seed   uint64
	number int
	recent *keyvalue.Recent
	random *rand.Rand

	// The current operation, for its next attempts.
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

// choose decides by seed and number whether an operation writes; it also writes if there is
// nothing to read. What it reads depends on what is acknowledged.
func (c *client) choose(seq uint64) {
	draw := float64(workload.Mix(workload.Mix(c.seed^uint64(c.number)<<seqBits)^seq)>>11) / (1 << 53)
	if c.put = draw < c.config.WriteShare; c.put {
		return
	}
	// Loaded and newly written entities are read equally often, so that a run does not end
	// reading from the cache alone.
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

func (c *client) loaded() keyvalue.Acknowledged {
	key, _ := Key(loader, c.random.Uint64N(uint64(c.config.Entities)))
	return keyvalue.Acknowledged{Number: key}
}
