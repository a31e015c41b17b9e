package disk

import "math/bits"

// A kernel writes its cache back in pages. A disk writes a sector whole or not at all.
const (
	pageSize   = 4096
	sectorSize = 512
)

// pages is a set of page numbers: one bit for each page up to the last.
type pages struct {
	words []uint64
	count int
}

func (p *pages) has(n int64) bool {
	return n>>6 < int64(len(p.words)) && p.words[n>>6]&(1<<(n&63)) != 0
}

func (p *pages) add(n int64) {
	for int64(len(p.words)) <= n>>6 {
		p.words = append(p.words, 0)
	}
	if bit := uint64(1) << (n & 63); p.words[n>>6]&bit == 0 {
		p.words[n>>6] |= bit
		p.count++
	}
}

func (p *pages) remove(n int64) {
	if p.has(n) {
		p.words[n>>6] &^= 1 << (n & 63)
		p.count--
	}
}

func (p *pages) clear() { p.words, p.count = p.words[:0], 0 }

func (p *pages) each(do func(n int64) error) error {
	for i := range p.words {
		for word := p.words[i]; word != 0; word &= word - 1 {
			if err := do(int64(i)<<6 + int64(bits.TrailingZeros64(word))); err != nil {
				return err
			}
		}
	}
	return nil
}

func pagesUpTo(size int64) int64 { return (size + pageSize - 1) / pageSize }
