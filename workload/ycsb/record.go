package ycsb

import (
	"cmp"
	"fmt"
	"strconv"

	"assay/store"
	"assay/workload"
)

// version is a record's writer: client, operation and attempt, in 62 bits. A loaded record has
// client loader, its number as operation, and attempt 1.
type version int64

const (
	attemptBits = 10
	seqBits     = 38
	clientBits  = 14

	maxAttempt = 1<<attemptBits - 1
	maxSeq     = 1<<seqBits - 1
	loader     = 1<<clientBits - 1
)

// Findings of a read that are no version.
const (
	// absent: the key has no record.
	absent version = -1 - iota
	// garbled: some field's content was not written by any client.
	garbled
	// mixed: the fields are of several versions.
	mixed
	// others: this run did not write it, in an existing table.
	others
)

// fixed is the version of records with fixed content. No attempt has it.
const fixed version = 0

// versionOf is not ok if the attempt has no version.
func versionOf(client int, seq uint64, attempt int) (v version, ok bool) {
	if client < 0 || client >= loader || seq > maxSeq || attempt < 1 || attempt > maxAttempt {
		return 0, false
	}
	return version(client)<<(seqBits+attemptBits) | version(seq)<<attemptBits | version(attempt), true
}

func loadedVersion(number int64) version {
	return loader<<(seqBits+attemptBits) | version(number)<<attemptBits | 1
}

func (v version) split() (client int, seq uint64, attempt int) {
	return int(v >> (seqBits + attemptBits)), uint64(v) >> attemptBits & maxSeq, int(v & maxAttempt)
}

func (v version) String() string {
	client, seq, attempt := v.split()
	switch {
	case v == absent:
		return "no record"
	case v == others:
		return "what this run did not write"
	case v == fixed:
		return "what its key says"
	case v < 0:
		return "what nobody wrote"
	case client == loader:
		return "what was loaded"
	case attempt == 1:
		return fmt.Sprintf("what operation %d of client %d wrote", seq, client)
	default:
		return fmt.Sprintf("what attempt %d of operation %d of client %d wrote", attempt, seq, client)
	}
}

// alphabet has six bits a character.
const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+-"

// versionChars hold a version.
const versionChars = 11

// contents makes and recognizes fields. A field holds the version and then characters that
// follow from seed, key, version and field; or its fixed content. It is safe for concurrent use.
type contents struct {
	*core
	keys   keys
	seed   uint64
	values [256]int8 // of the characters of alphabet; -1 of others
}

func newContents(of *core, seed uint64) *contents {
	c := &contents{core: of, keys: of.keysOf(seed), seed: seed}
	for i := range c.values {
		c.values[i] = -1
	}
	for i := range alphabet {
		c.values[alphabet[i]] = int8(i)
	}
	return c
}

// record appends a key and its fields in a version, or one field.
func (c *contents) record(into []store.Value, key int64, v version, field int) []store.Value {
	into = append(into, c.keys.value(key))
	first, last := c.span(field)
	for i := first; i < last; i++ {
		into = append(into, store.OfText(c.text(key, v, i)))
	}
	return into
}

// span is the range of fields that a field stands for.
func (c *core) span(field int) (first, last int) {
	if field == everyField {
		return 0, c.fields
	}
	return field, field + 1
}

func (c *contents) text(key int64, v version, field int) string {
	random := workload.NewRandom(c.seed^workload.Mix(uint64(key)), workload.Mix(uint64(v))+uint64(field))
	if c.fixed {
		random = workload.NewRandom(workload.Mix(uint64(key)), uint64(field))
		return deterministic(c.keys.text(key), c.fieldName(field), c.lengths.draw(&random))
	}
	length := c.lengths.max
	if c.lengths.min < length {
		length = c.lengths.draw(&random)
	}
	into := make([]byte, length)
	for i := range versionChars {
		into[i] = alphabet[v>>(6*i)&63]
	}
	for rest := into[versionChars:]; len(rest) > 0; {
		bits := random.Next()
		n := min(10, len(rest))
		for i := range n {
			rest[i] = alphabet[bits>>(6*i)&63]
		}
		rest = rest[n:]
	}
	return string(into)
}

// deterministic is YCSB's content for data integrity (CoreWorkload.buildDeterministicValue): key
// and field, and then Java's hash of all before, again and again, each behind a colon.
func deterministic(key, field string, length int) string {
	text := append(make([]byte, 0, length+16), key+":"+field...)
	hash, hashed := int32(0), 0
	for len(text) < length {
		for text = append(text, ':'); hashed < len(text); hashed++ {
			hash = 31*hash + int32(text[hashed])
		}
		text = strconv.AppendInt(text, int64(hash), 10)
	}
	return string(text[:length])
}

// scan returns a row's key and the version of each unit of field, or garbled, mixed or others.
func (c *contents) scan(row store.Row, field int, into []version) (key int64, found []version, err error) {
	first, last := c.span(field)
	texts := make([]string, last-first)
	switch {
	case c.existing:
		key, err = c.scanLoosely(row, texts)
	case c.keys.texts:
		var text string
		if err = row.Scan(append([]any{&text}, pointers(texts)...)...); err == nil {
			key = c.keys.read(text)
		}
	default:
		err = row.Scan(append([]any{&key}, pointers(texts)...)...)
	}
	if err != nil {
		return 0, append(into, garbled), err
	}
	if c.units() == 1 {
		return key, append(into, c.recognize(key, texts, first)), nil
	}
	for i := range texts {
		into = append(into, c.recognize(key, texts[i:i+1], first+i))
	}
	return key, into, nil
}

// scanLoosely reads a row that others may have written, in which values may be missing.
func (c *contents) scanLoosely(row store.Row, texts []string) (key int64, err error) {
	values, err := row.AppendValues(nil)
	if err != nil || len(values) != 1+len(texts) {
		return 0, cmp.Or(err, fmt.Errorf("a row has %d values, not %d", len(values), 1+len(texts)))
	}
	text, _ := values[0].(string)
	for i := range texts {
		texts[i], _ = values[1+i].(string)
	}
	return c.keys.read(text), nil
}

func pointers(texts []string) []any {
	into := make([]any, len(texts))
	for i := range texts {
		into[i] = &texts[i]
	}
	return into
}

// unknown is the version of foreign content.
func (c *contents) unknown() version {
	if c.existing {
		return others
	}
	return garbled
}

// recognize is the version of consecutive fields.
func (c *contents) recognize(key int64, fields []string, first int) version {
	if key < 0 {
		return c.unknown()
	}
	found, differ, strange := garbled, false, false
	for i, text := range fields {
		v := fixed
		if !c.fixed {
			v = c.stamp(text)
		}
		if v < 0 || c.text(key, v, first+i) != text {
			strange = true
			continue
		}
		differ = differ || found != garbled && v != found
		found = v
	}
	switch {
	case strange && found == garbled || strange && !c.existing || strange && c.fixed:
		return c.unknown()
	case strange || differ:
		return mixed
	}
	return found
}

// stamp is the version at a field's begin, negative if there is none.
func (c *contents) stamp(text string) version {
	if len(text) < versionChars {
		return garbled
	}
	v := version(0)
	for i := range versionChars {
		v |= version(c.values[text[i]]) << (6 * i) // -1 sets all bits above, so that nothing is below 0 by chance
	}
	return v
}
