package mem

// bag keeps rows in the order in which they were added, and finds the first of
// each key. Only bugs add a second one.
type bag[K comparable, R any] struct {
	key  func(R) K
	rows []R
	at   map[K]int
}

// empty takes everything out.
func (b *bag[K, R]) empty() { b.rows, b.at = nil, map[K]int{} }

func (b *bag[K, R]) has(key K) bool {
	_, there := b.at[key]
	return there
}

func (b *bag[K, R]) add(row R) {
	if key := b.key(row); !b.has(key) {
		b.at[key] = len(b.rows)
	}
	b.rows = append(b.rows, row)
}

// lose takes a row back. The last row takes its place.
func (b *bag[K, R]) lose(key K) {
	at, there := b.at[key]
	if !there {
		return
	}
	last := len(b.rows) - 1
	b.rows[at] = b.rows[last]
	if moved := b.key(b.rows[at]); b.at[moved] == last {
		b.at[moved] = at
	}
	b.rows = b.rows[:last]
	delete(b.at, key)
}
