package entity

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/brianvoe/gofakeit/v7"
	"github.com/google/uuid"

	"assay/driver/mem"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
	"assay/workload"
	"assay/workload/keyvalue"
)

func TestKeysAndIDs(t *testing.T) {
	seen := map[uuid.UUID]bool{}
	last := uuid.UUID{}
	descents := 0
	for _, seed := range []uint64{0, 1, math.MaxUint64} {
		for client := range 40 {
			for _, seq := range []uint64{0, 1, 2, 1 << 33, MaxSeq} {
				key, ok := Key(client, seq)
				c, s := SplitKey(key)
				if !ok || c != client || s != seq {
					t.Fatalf("client %d, operation %d has key %d, which is %d, %d", client, seq, key, c, s)
				}
				id := IDOf(seed, key)
				if back, ok := KeyOf(seed, id); !ok || back != key {
					t.Errorf("id %v of key %d is of key %d, %v", id, key, back, ok)
				}
				if id.Version() != 8 || id.Variant() != uuid.RFC4122 || seen[id] {
					t.Errorf("id %v: version %v, variant %v, seen %v", id, id.Version(), id.Variant(), seen[id])
				}
				if _, ok := KeyOf(seed+1, id); ok {
					t.Errorf("id %v is of a key under another seed", id)
				}
				id[15] ^= 1
				if _, ok := KeyOf(seed, id); ok {
					t.Errorf("id %v, with a bit turned, is of a key", id)
				}
				id[15] ^= 1
				seen[id] = true
				if id.String() < last.String() {
					descents++
				}
				last = id
			}
		}
	}
	if descents < 240 || descents > 360 {
		t.Errorf("of 600 ids %d come before the one before: they should be in no order", descents)
	}
	for _, wrong := range []struct {
		client int
		seq    uint64
	}{{-1, 0}, {MaxClient + 1, 0}, {0, MaxSeq + 1}} {
		if _, ok := Key(wrong.client, wrong.seq); ok {
			t.Errorf("%+v has a key", wrong)
		}
	}
}

func TestEntitiesDependOnSeedAndKeyAlone(t *testing.T) {
	names, emails := map[string]bool{}, map[string]bool{}
	for key := range int64(500) {
		e := Make(7, key)
		if e != Make(7, key) || e.ID != IDOf(7, key) {
			t.Fatalf("key %d is %+v and %+v", key, e, Make(7, key))
		}
		if other := Make(8, key); other.ID == e.ID || SumOf(other) == SumOf(e) {
			t.Errorf("key %d is the same under two seeds", key)
		}
		if len(e.Name) < 3 || len(e.Name) > MaxName || e.Age < 18 || e.Age > 90 || len(e.Description) < 20 || len(e.Description) > MaxDescription ||
			len(e.Address) < 10 || len(e.Address) > MaxAddress || len(e.Phone) < 7 || len(e.Phone) > MaxPhone || len(e.Email) < 8 || len(e.Email) > MaxEmail {
			t.Errorf("key %d: %+v", key, e)
		}
		names[e.Name], emails[e.Email] = true, true
	}
	if len(names) < 450 || len(emails) < 490 {
		t.Errorf("500 entities have %d names and %d addresses", len(names), len(emails))
	}
}

// TestEntitiesAreOfTheLibrary: what is drawn from gofakeit's lists is what its own functions draw,
// so that a saved run is judged by the entities that it wrote.
func TestEntitiesAreOfTheLibrary(t *testing.T) {
	for key := range int64(2000) {
		source := rand.NewPCG(workload.Mix(7), workload.Mix(uint64(key)))
		f, e := gofakeit.NewFaker(source, false), Make(7, key)
		name := f.FirstName() + " " + f.LastName()
		rand.New(source).IntN(73) // the age
		description := f.JobTitle() + " at " + f.Company() + ", speaks " + f.Language() + ", likes " + f.Hobby() + " and " + f.Hobby()
		address := f.Street() + ", " + f.City() + ", " + f.StateAbr() + " " + f.Zip()
		if phone := f.PhoneFormatted(); e.Name != name || e.Description != description || e.Address != address || e.Phone != phone {
			t.Fatalf("key %d is %+v, and the library draws %q, %q, %q, %q", key, e, name, description, address, phone)
		}
	}
}

func TestSumsSeeEveryField(t *testing.T) {
	e := Make(1, 2)
	sum := SumOf(e)
	changes := map[string]func(*Entity){
		"id": func(e *Entity) { e.ID[3] ^= 1 }, "name": func(e *Entity) { e.Name += " " }, "age": func(e *Entity) { e.Age-- },
		"description": func(e *Entity) { e.Description = e.Description[1:] }, "address": func(e *Entity) { e.Address = "" },
		"phone": func(e *Entity) { e.Phone += "0" }, "email": func(e *Entity) { e.Email = "x@example.com" },
	}
	for field, change := range changes {
		other := e
		change(&other)
		got := SumOf(other)
		if got.All == sum.All {
			t.Errorf("a change of the %s is not seen", field)
		}
		if names := differing(got.Parts, sum.Parts); len(names) != 1 || names[0] != field {
			t.Errorf("a change of the %s is told as one of %v", field, names)
		}
	}
	swapped := e
	swapped.Phone, swapped.Email = e.Email, e.Phone
	if SumOf(swapped).All == sum.All {
		t.Error("two fields that were swapped are not seen")
	}
}

func TestThereIsSomethingToRead(t *testing.T) {
	if err := (Config{}).Validate(); err == nil {
		t.Error("reads of nothing are possible")
	}
	if err := LoadDefaults().Validate(); err != nil {
		t.Error(err)
	}
}

// TestEntitiesAreRows: what was written is read, whatever the texts are.
func TestEntitiesAreRows(t *testing.T) {
	db, err := mem.Open(t.Context(), store.Target{Address: "mem://"}, Schema())
	expect.NoError(t, err)
	expect.NoError(t, db.Create(t.Context(), store.Marker{}))
	session, err := db.Session(t.Context(), keyvalue.Statements(Schema()))
	expect.NoError(t, err)
	defer session.Close()
	want := map[Entity]bool{}
	for i, text := range []string{`' " and \ and $1 ? :x %s {}`, "Žluťoučký 馬 🐎", " spaces at the ends ", "two\nlines\tand a tab", ""} {
		e := Entity{ID: IDOf(1, int64(i)), Name: text, Age: i, Description: text, Address: text, Phone: text, Email: text}
		if r := session.Run(t.Context(), store.Call{Statement: keyvalue.Insert, Parameters: e.Values()}); r.Outcome != history.Committed {
			t.Fatalf("%+v", r)
		}
		want[e] = true
	}
	err = keyvalue.Read(t.Context(), db, Schema(), func(row store.Row) error {
		e, err := Of(row)
		if !want[e] {
			t.Errorf("%+v was read", e)
		}
		delete(want, e)
		return err
	})
	if err != nil || len(want) > 0 {
		t.Errorf("%v; not read: %v", err, want)
	}
}

func BenchmarkMake(b *testing.B) {
	for i := range b.N {
		SumOf(Make(1, int64(i)))
	}
}
