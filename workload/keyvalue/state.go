package keyvalue

import (
	"context"

	"assay/history"
)

// The records after the run are kept in a file (history.SaveRecords), so that
// they can be judged again without the database: the number and the digest of
// each, then their count, without which the file is not whole. Where keys can
// have no number, such a record has a tag of its own, and the count the next.
const (
	tagRecord     byte = 1 // number, digest
	tagUnnumbered byte = 2 // Preset.Unnumbered
)

// tagCount is the tag of the count.
func (p *Preset) tagCount() byte {
	if p.Unnumbered != nil {
		return tagUnnumbered + 1
	}
	return tagRecord + 1
}

// digestWords is how many words a digest has.
func (p *Preset) digestWords() int {
	if p.Hashed {
		return 2
	}
	return 1
}

// Save reads all records of the store into a file. read is called now and then
// with the number of records so far. A file that exists is replaced, and only by
// a whole one.
func Save(ctx context.Context, store Store, p *Preset, path string, read func(rows int64)) error {
	var rows int64
	return history.SaveRecords(path, p.Magic, func() { read(rows) }, func(w *history.RecordWriter) error {
		err := store.Read(ctx, func(record Record) error {
			rows++
			got := p.Observe(record)
			if p.Unnumbered != nil && got.Number < 0 {
				key := p.Unnumbered(record.Key)
				return w.Put(tagUnnumbered, key[:]...)
			}
			return w.Put(tagRecord, append([]int64{got.Number}, got.Digest[:p.digestWords()]...)...)
		})
		if err != nil {
			return err
		}
		return w.Put(p.tagCount(), rows)
	})
}

// Replay reads what Save wrote, in its order. A file that is not whole gives a
// *history.CutError, a damaged one a *history.FormatError, and the callback's
// error is returned as it is.
func Replay(path string, p *Preset, use func(Observed) error) error {
	var rows int64
	return history.ReplayRecords(path, p.Magic, func(tag byte, r *history.RecordReader) error {
		var v [3]int64
		switch {
		case tag == tagRecord && r.Ints(v[:1+p.digestWords()]) && (p.Unnumbered == nil || p.numbered(v[0])):
			rows++
			return use(Observed{Number: v[0], Digest: Digest{v[1], v[2]}})
		case tag == tagUnnumbered && p.Unnumbered != nil && r.Ints(v[:2]):
			rows++
			return use(Observed{Number: Impossible, Digest: Digest{v[0], v[1]}})
		case tag == p.tagCount() && r.Ints(v[:1]) && v[0] == rows:
			r.Whole()
			return nil
		default:
			return r.Malformed("a " + p.Words.One + " that cannot be read, or a count that does not match")
		}
	})
}

// numbered reports whether a client can have the number.
func (p *Preset) numbered(number int64) bool {
	_, _, _, ok := p.Split(number)
	return ok
}
