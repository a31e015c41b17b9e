package report

// Outage is the longest time without a write, or without a read, that overlaps a fault.
type Outage struct {
	// Millis is -1 if none is known.
	Millis float64
	// Fault is nil if none acted.
	Fault *Fault
	// AtLeast is true if the run's end cut the outage of any fault: that one may be the longest.
	AtLeast bool
}

// LongestOutage is of writes, or of reads, over the faults that were not skipped.
func (r *Result) LongestOutage(reads bool) Outage {
	longest := Outage{Millis: -1}
	for i := range r.Faults {
		f := &r.Faults[i]
		if f.Skipped {
			continue
		}
		ms, away := f.WriteOutage, f.WritesAway
		if reads {
			ms, away = f.ReadOutage, f.ReadsAway
		}
		if longest.Fault == nil || ms > longest.Millis {
			longest.Millis, longest.Fault = ms, f
		}
		longest.AtLeast = longest.AtLeast || away
	}
	return longest
}
