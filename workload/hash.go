package workload

// Mix is the finalizer of SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, "Fast
// Splittable Pseudorandom Number Generators", OOPSLA 2014), a bijection: what
// follows from a seed and an id alone is drawn with it.
func Mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Sum is a hash of a payload, FNV-1a of 64 bits (G. Fowler, L. C. Noll, P. Vo),
// under which it is kept in a run's folder.
func Sum(payload string) int64 {
	h := uint64(14695981039346656037)
	for i := range len(payload) {
		h = (h ^ uint64(payload[i])) * 1099511628211
	}
	return int64(h)
}
