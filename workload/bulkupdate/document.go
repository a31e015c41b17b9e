package bulkupdate

import "encoding/hex"

// Document is one document of one user.
type Document struct {
	// ID is unique (the primary key, or _id), from 1: the documents of one user
	// after those of another.
	ID int64
	// User is its owner and Number its place among the owner's, both from 1.
	User, Number int64
	// Flag is the boolean that updates are about. Generation is the number of
	// the round that set it, 0 at first.
	Flag       bool
	Generation int64
	// Payload is what the document holds beside: PayloadBytes letters and
	// digits.
	Payload string
}

// PayloadBytes is the length of a document's payload.
const PayloadBytes = 96

// Documents are those of a configuration and seed: pure functions of their
// numbers.
type Documents struct {
	config Config
	seed   uint64
}

// NewDocuments returns the documents of this configuration and seed.
func NewDocuments(config Config, seed uint64) Documents { return Documents{config, seed} }

// Len is how many documents there are.
func (d Documents) Len() int64 { return d.config.Users * d.config.Documents }

// At returns document id as it is loaded; id is from 1 to Len.
func (d Documents) At(id int64) Document {
	user, number := d.place(id)
	return Document{ID: id, User: user, Number: number, Flag: d.flag(id, 0), Payload: d.payload(id)}
}

// Batch returns up to MaxBatch documents from id on, in the room that buf has.
func (d Documents) Batch(id int64, buf []Document) []Document {
	buf = buf[:0]
	for ; id <= d.Len() && len(buf) < MaxBatch; id++ {
		buf = append(buf, d.At(id))
	}
	return buf
}

// place is whose document it is, and which.
func (d Documents) place(id int64) (user, number int64) {
	return (id-1)/d.config.Documents + 1, (id-1)%d.config.Documents + 1
}

// flag is what the boolean of a document is in a generation.
func (d Documents) flag(id, generation int64) bool {
	switch {
	case generation > 0:
		return flagOf(generation)
	case d.config.Field == FieldAlternate:
		return id%2 == 0
	case d.config.Field == FieldRandom:
		return mix(uint64(id)^mix(d.seed))&1 == 1
	default:
		return false
	}
}

// flagOf is what a round sets the boolean to, so that it flips from each to the
// next.
func flagOf(generation int64) bool { return generation%2 == 1 }

// payload is hexadecimal digits out of a generator that begins at the seed and
// the id.
func (d Documents) payload(id int64) string {
	var raw [PayloadBytes / 2]byte
	state := mix(d.seed ^ mix(uint64(id)))
	for i := range raw {
		if i%8 == 0 {
			state = mix(state)
		}
		raw[i] = byte(state >> (8 * (i % 8)))
	}
	return hex.EncodeToString(raw[:])
}

// sum is a hash of a payload, FNV-1a of 64 bits (G. Fowler, L. C. Noll, P. Vo),
// under which it is kept in a run's folder.
func sum(payload string) int64 {
	h := uint64(14695981039346656037)
	for i := range len(payload) {
		h = (h ^ uint64(payload[i])) * 1099511628211
	}
	return int64(h)
}

// mix is the finalizer of SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, "Fast
// Splittable Pseudorandom Number Generators", 2014).
func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
