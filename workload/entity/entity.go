package entity

import (
	"encoding/binary"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/brianvoe/gofakeit/v7/data"
	"github.com/google/uuid"

	"assay/workload"
)

// Entity is what is written and read: seven fields, as a web service would
// keep them. None of them is ever empty.
type Entity struct {
	ID          uuid.UUID `json:"id"`
	Name        string    `json:"name"`
	Age         int       `json:"age"`
	Description string    `json:"description"`
	Address     string    `json:"address"`
	Phone       string    `json:"phone"`
	Email       string    `json:"email"`
}

// What the fields of an entity may hold, in bytes and years. What Make makes is
// far below.
const (
	MaxName        = 200
	MaxDescription = 4000
	MaxAddress     = 500
	MaxPhone       = 50
	MaxEmail       = 254
	MaxAge         = 150
)

// Make returns the entity of a key under a seed. It is the same each time: all
// values come from a generator that is seeded with both, and nothing is shared
// between calls. They are what gofakeit's functions draw; of that library the lists alone are
// used, since its functions keep all methods of the program in it (text/template).
func Make(seed uint64, key int64) Entity {
	random := rand.New(rand.NewPCG(workload.Mix(seed), workload.Mix(uint64(key))))
	person := func(what string) string { return workload.One(random, data.Person[what]) }
	address := func(what string) string { return workload.One(random, data.Address[what]) }
	first, last := person("first"), person("last")
	return Entity{
		ID:   IDOf(seed, key),
		Name: first + " " + last,
		Age:  18 + random.IntN(73),
		Description: workload.One(random, data.Job["title"]) + " at " + workload.One(random, data.Company["name"]) +
			", speaks " + workload.One(random, data.Languages["long"]) + ", likes " + person("hobby") + " and " + person("hobby"),
		Address: street(random, address) + ", " + address("city") + ", " + address("state_abr") + " " + digits(random, address("zip")),
		Phone:   digits(random, person("phone")),
		Email:   lower(first) + "." + lower(last) + strconv.Itoa(random.IntN(10_000)) + "@example.com",
	}
}

// street is a number and a name, the latter with a prefix every other time.
func street(random *rand.Rand, address func(what string) string) string {
	prefixed := random.IntN(2) == 0
	street := strings.TrimLeft(digits(random, address("number")), "0") + " "
	if prefixed {
		street += address("street_prefix") + " "
	}
	return street + address("street_name") + address("street_suffix")
}

// digits has a digit in place of each #, the first of them not 0.
func digits(random *rand.Rand, pattern string) string {
	text := []byte(pattern)
	for i, c := range text {
		if c == '#' {
			text[i] = '0' + byte(random.IntN(10))
		}
	}
	if text[0] == '0' {
		text[0] = '1' + byte(random.IntN(8))
	}
	return string(text)
}

// lower keeps of a name what may stand in an e-mail address without quotes.
func lower(name string) string {
	out := make([]byte, 0, len(name))
	for _, c := range []byte(name) {
		switch {
		case c >= 'A' && c <= 'Z':
			out = append(out, c-'A'+'a')
		case c >= 'a' && c <= 'z':
			out = append(out, c)
		}
	}
	return string(out)
}

// Sum is what is kept of an entity to judge it by.
type Sum struct {
	// All is a hash of all seven fields: FNV-1a (G. Fowler, L. Noll, K.-P. Vo,
	// 1991) of 64 bits over each field and its length.
	All int64
	// Parts holds ten bits of the hash of each field but the id, so that one
	// can say which of them is not as it should be.
	Parts int64
}

const partBits = 10

// partNames are the fields in Parts, from the lowest bits.
func partNames() []string {
	return []string{"name", "age", "description", "address", "phone", "email"}
}

// SumOf returns the sum of an entity.
func SumOf(e Entity) Sum {
	var s Sum
	whole := hashOf(e.ID[:])
	age := binary.LittleEndian.AppendUint64(nil, uint64(e.Age))
	for i, field := range [][]byte{[]byte(e.Name), age, []byte(e.Description), []byte(e.Address), []byte(e.Phone), []byte(e.Email)} {
		h := hashOf(field)
		s.Parts |= int64(workload.Mix(h)&(1<<partBits-1)) << (i * partBits)
		whole = (whole ^ h) * fnvPrime
		whole = (whole ^ uint64(len(field))) * fnvPrime
	}
	s.All = int64(workload.Mix(whole))
	return s
}

// The constants of FNV-1a with 64 bits.
const (
	fnvOffset = 0xcbf29ce484222325
	fnvPrime  = 0x100000001b3
)

func hashOf(data []byte) uint64 {
	h := uint64(fnvOffset)
	for _, c := range data {
		h = (h ^ uint64(c)) * fnvPrime
	}
	return h
}

// differing names the fields in which two sums of parts differ.
func differing(a, b int64) []string {
	var names []string
	for i, name := range partNames() {
		if (a^b)>>(i*partBits)&(1<<partBits-1) != 0 {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return []string{"id"}
	}
	return names
}

// A key says who writes an entity: the client in the upper bits and its
// operation in the lower ones. It has 60 bits.
const (
	seqBits = 46
	keyBits = 60
	halfKey = keyBits / 2
	// MaxClient is the highest client number, MaxSeq the highest operation.
	MaxClient = 1<<(keyBits-seqBits) - 1
	MaxSeq    = 1<<seqBits - 1
	// loader is the client whose entities are there before the run.
	loader = MaxClient
)

// Key returns the key of operation seq of a client. ok is false if one of them
// is out of range.
func Key(client int, seq uint64) (key int64, ok bool) {
	if client < 0 || client > MaxClient || seq > MaxSeq {
		return 0, false
	}
	return int64(client)<<seqBits | int64(seq), true
}

// SplitKey is the inverse of Key, for keys that it can have returned.
func SplitKey(key int64) (client int, seq uint64) {
	return int(key >> seqBits), uint64(key) & MaxSeq
}

// IDOf returns the id of the entity of a key: a UUID of version 8 (RFC 9562,
// section 5.8), whose 60 leading bits of its own are the key under a permutation
// that depends on the seed, and whose 62 others are a hash of both. So ids come
// in no order, as those of a web service do, and each tells whose it is to who
// knows the seed.
func IDOf(seed uint64, key int64) uuid.UUID {
	const half = 1<<halfKey - 1
	left, right := uint64(key)>>halfKey, uint64(key)&half
	for round := range uint64(feistelRounds) {
		left, right = right, left^(scramble(seed, round, right)&half)
	}
	front := left<<halfKey | right
	tail := workload.Mix(workload.Mix(seed) ^ uint64(key))
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[:8], front>>12<<16|8<<12|front&0xfff)
	binary.BigEndian.PutUint64(id[8:], tail>>2|1<<63)
	return id
}

// KeyOf is the inverse of IDOf. ok is false if the id is of no key under this
// seed.
func KeyOf(seed uint64, id uuid.UUID) (key int64, ok bool) {
	const half = 1<<halfKey - 1
	head := binary.BigEndian.Uint64(id[:8])
	front := head>>16<<12 | head&0xfff
	left, right := front>>halfKey, front&half
	for round := uint64(feistelRounds); round > 0; round-- {
		left, right = right^(scramble(seed, round-1, left)&half), left
	}
	key = int64(left<<halfKey | right)
	return key, IDOf(seed, key) == id
}

// feistelRounds make a permutation of a function that is none (M. Luby, C.
// Rackoff, "How to construct pseudorandom permutations from pseudorandom
// functions", SIAM J. Comput. 17(2), 1988: four rounds do).
const feistelRounds = 4

func scramble(seed, round, half uint64) uint64 { return workload.Mix(workload.Mix(seed+round) ^ half) }
