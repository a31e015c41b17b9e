package history

// Counts counts operations by outcome, with the keys of result.json.
type Counts struct {
	Committed int64 `json:"committed"`
	Rejected  int64 `json:"rejected"`
	Failed    int64 `json:"failed"`
	Unknown   int64 `json:"unknown"`
}

// Total is the number of all operations.
func (c Counts) Total() int64 { return c.Committed + c.Rejected + c.Failed + c.Unknown }

// Add counts n operations of an outcome. An invalid outcome counts as Unknown.
func (c *Counts) Add(o Outcome, n int64) {
	switch o {
	case Committed:
		c.Committed += n
	case Rejected:
		c.Rejected += n
	case Failed:
		c.Failed += n
	default:
		c.Unknown += n
	}
}

// Plus returns the sum of two Counts.
func (c Counts) Plus(more Counts) Counts {
	return Counts{c.Committed + more.Committed, c.Rejected + more.Rejected, c.Failed + more.Failed, c.Unknown + more.Unknown}
}
