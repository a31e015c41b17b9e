package disk

import (
	"math/rand/v2"
)

// lose takes unsynced pages back and returns their number. A nil chance takes all; otherwise each
// page survives at random, and if torn is true possibly in part.
func (c *content) lose(chance *rand.Rand, torn bool) (lost int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.rest()
	if c.dirty.count == 0 && c.failed.count == 0 && c.size == c.synced {
		return 0, nil
	}
	if err := c.ready(); err != nil {
		return 0, err
	}
	if err := c.undoReady(); err != nil {
		return 0, err
	}
	fate := survival{valid: c.synced, size: c.synced}
	if chance != nil {
		fate = c.draw(chance)
	}
	end := c.size // of what was there before the cut
	if err := c.data.Truncate(max(fate.size, end)); err != nil {
		return 0, err
	}
	err = c.dirty.each(func(n int64) error {
		whole, from, to := fate.page(n, chance, torn)
		if whole && n*pageSize < end {
			fate.size = max(fate.size, min(end, (n+1)*pageSize))
			return nil
		}
		lost++
		if from < to {
			fate.size = max(fate.size, min(end, n*pageSize+to))
		}
		return c.restore(n, fate.valid, from, to)
	})
	if err != nil {
		return lost, err
	}
	err = c.failed.each(func(n int64) error {
		lost++
		return c.restore(n, fate.valid, 0, 0)
	})
	if err != nil {
		return lost, err
	}
	if err := c.data.Truncate(fate.size); err != nil {
		return lost, err
	}
	c.failed.clear()
	c.size = fate.size
	return lost, c.settle()
}

type survival struct {
	// valid bytes of the last sync can come back. size is the file's length, which surviving
	// pages may extend.
	valid, size int64
	// below is the first page that cannot survive.
	below int64
}

// draw decides whether a truncation since the last sync survives. A file system writes the data
// put behind the truncation only after it, so that data cannot survive without it.
func (c *content) draw(chance *rand.Rand) survival {
	all := survival{valid: c.synced, size: c.synced, below: pagesUpTo(c.size)}
	if c.least >= c.synced {
		return all
	}
	if chance.IntN(2) == 0 {
		all.below = c.least / pageSize
		return all
	}
	all.valid, all.size = c.least, c.least
	return all
}

// page draws the fate of a page: it survives whole, or only its bytes between from and to do.
func (s survival) page(n int64, chance *rand.Rand, torn bool) (whole bool, from, to int64) {
	if n >= s.below {
		return false, 0, 0
	}
	choices := 2
	if torn {
		choices = 4
	}
	sector := 1 + chance.Int64N(pageSize/sectorSize-1)
	switch chance.IntN(choices) {
	case 0:
		return true, 0, 0
	case 1:
		return false, 0, 0
	case 2:
		return false, 0, sector * sectorSize
	}
	return false, sector * sectorSize, pageSize
}

// restore puts the synced bytes back into a page, except between from and to. Behind valid it
// writes zeros.
func (c *content) restore(n, valid, from, to int64) error {
	start := n * pageSize
	var page [pageSize]byte
	if start < valid {
		if _, err := readUpTo(c.undo, page[:min(pageSize, valid-start)], start); err != nil {
			return err
		}
	}
	if _, err := c.data.WriteAt(page[:from], start); err != nil {
		return err
	}
	_, err := c.data.WriteAt(page[to:], start+to)
	return err
}

// failSync makes a sync fail: unsynced writes do not reach the disk but count as clean. With old,
// reads return the synced bytes.
func (c *content) failSync(old bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.rest()
	if err := c.ready(); err != nil {
		return err
	}
	if err := c.undoReady(); err != nil {
		return err
	}
	valid := min(c.least, c.synced)
	err := c.dirty.each(func(n int64) error {
		switch {
		case n*pageSize >= c.size: // cut off meanwhile
			return nil
		case old:
			return c.restore(n, valid, 0, 0)
		}
		c.failed.add(n)
		c.kept = true
		return zero(c.undo, max(n*pageSize, valid), (n+1)*pageSize) // what was not there then
	})
	if err != nil {
		return err
	}
	if err := c.data.Truncate(c.size); err != nil { // a page was restored beyond it
		return err
	}
	return c.settle()
}

// flip inverts bits of a byte, which does not count as a write.
func (c *content) flip(offset int64, mask byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.rest()
	if err := c.ready(); err != nil {
		return err
	}
	var one [1]byte
	if _, err := c.data.ReadAt(one[:], offset); err != nil {
		return err
	}
	one[0] ^= mask
	_, err := c.data.WriteAt(one[:], offset)
	return err
}
