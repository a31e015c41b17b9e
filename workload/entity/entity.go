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

// Entity has seven fields, as a web service would keep them. None is ever empty.
type Entity struct {
	ID          uuid.UUID `json:"id"`
	Name        string    `json:"name"`
	Age         int       `json:"age"`
	Description string    `json:"description"`
	Address     string    `json:"address"`
	Phone       string    `json:"phone"`
	Email       string    `json:"email"`
}

// Bounds of fields in bytes and years; Make stays far below.
const (
	MaxName        = 200
	MaxDescription = 4000
	MaxAddress     = 500
	MaxPhone       = 50
	MaxEmail       = 254
	MaxAge         = 150
)

// Make returns the entity of a key under a seed, always the same. It is safe for concurrent use.
// It draws as gofakeit's functions do, but uses that library's lists alone: its functions would
// keep all methods in the program (text/template).
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

// street is a number and a name, every other time with a prefix.
func street(random *rand.Rand, address func(what string) string) string {
	prefixed := random.IntN(2) == 0
	street := strings.TrimLeft(digits(random, address("number")), "0") + " "
	if prefixed {
		street += address("street_prefix") + " "
	}
	return street + address("street_name") + address("street_suffix")
}

// digits replaces each # by a digit; the first is not 0.
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

// lower keeps what an e-mail address permits without quotes.
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

// Sum is kept of an entity to judge it.
type Sum struct {
	// All is a hash of the seven fields: 64-bit FNV-1a (G. Fowler, L. Noll, K.-P. Vo, 1991) over
	// each field and its length.
	All int64
	// Parts has ten bits of each field's hash except the id's, to name altered fields.
	Parts int64
}

const partBits = 10

// partNames are the fields of Parts, lowest bits first.
func partNames() []string {
	return []string{"name", "age", "description", "address", "phone", "email"}
}

// SumOf returns the sum of an entity.
func SumOf(e Entity) Sum {
	var s Sum
	whole := workload.FNVBasis.Text(string(e.ID[:]))
	age := string(binary.LittleEndian.AppendUint64(nil, uint64(e.Age)))
	for i, field := range [...]string{e.Name, age, e.Description, e.Address, e.Phone, e.Email} {
		h := uint64(workload.FNVBasis.Text(field))
		s.Parts |= int64(workload.Mix(h)&(1<<partBits-1)) << (i * partBits)
		whole = whole.Add(h).Add(uint64(len(field)))
	}
	s.All = int64(workload.Mix(uint64(whole)))
	return s
}

// differing names the fields in which two Parts differ.
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

// A key has 60 bits: the client in the upper ones and its operation in the lower.
const (
	seqBits = 46
	keyBits = 60
	halfKey = keyBits / 2
	// MaxClient and MaxSeq are the highest numbers that a key can hold.
	MaxClient = 1<<(keyBits-seqBits) - 1
	MaxSeq    = 1<<seqBits - 1
	// loader is the client of the entities loaded before the run.
	loader = MaxClient
)

// Key returns the key of operation seq of a client. ok is false out of range.
func Key(client int, seq uint64) (key int64, ok bool) {
	if client < 0 || client > MaxClient || seq > MaxSeq {
		return 0, false
	}
	return int64(client)<<seqBits | int64(seq), true
}

// SplitKey is the inverse of Key.
func SplitKey(key int64) (client int, seq uint64) {
	return int(key >> seqBits), uint64(key) & MaxSeq
}

// IDOf returns the id of a key: a UUID of version 8 (RFC 9562, section 5.8). Its first 60 free
// bits are the key under a permutation that the seed decides, the other 62 a hash of both. So
// ids come in no order, like a web service's, and the seed reveals whose they are.
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

// KeyOf is the inverse of IDOf. ok is false if no key has the id under this seed.
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

// Four rounds make a permutation of any function (M. Luby, C. Rackoff, "How to construct
// pseudorandom permutations from pseudorandom functions", SIAM J. Comput. 17(2), 1988).
const feistelRounds = 4

func scramble(seed, round, half uint64) uint64 { return workload.Mix(workload.Mix(seed+round) ^ half) }
