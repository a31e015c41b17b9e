package report

import (
	"fmt"

	"assay/check"
	"assay/internal/quantity"
)

// Backup is a backup that was made while the load went on, or what was restored of one
// beside the database.
type Backup struct {
	// Number counts the backups of a run from 1. Restore counts what was restored, and is 0
	// of a backup.
	Number  int `json:"number"`
	Restore int `json:"restore,omitempty"`
	// By is the program or the interface that made the backup.
	By string `json:"by"`
	// Bytes is how large the backup is, Seconds how long it took to make or to restore it.
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"`
	// Target is the moment whose state was to be restored, in seconds since the start of the
	// run; nil for that of the backup.
	Target *float64 `json:"target_s,omitempty"`
	// Before is the load before it, During meanwhile; nil where that was not measured.
	Before *Felt `json:"before,omitempty"`
	During *Felt `json:"during,omitempty"`
	// Moment is where in the history the restored state lies; nil where that is not known.
	Moment *Moment `json:"moment,omitempty"`
}

// Felt is the load in a part of the measured time.
type Felt struct {
	Seconds   float64 `json:"seconds"`
	PerSecond float64 `json:"committed_per_second"`
	P50       float64 `json:"p50_ms"`
	P99       float64 `json:"p99_ms"`
	Max       float64 `json:"max_ms"`
}

// Moment is between two moments, in seconds since the start of the run: when the last
// transaction that is there was started, and when the first one that is missing had been
// acknowledged; nil where there is none.
type Moment struct {
	From *float64 `json:"from_s,omitempty"`
	To   *float64 `json:"to_s,omitempty"`
	// Lacks is how many acknowledged operations are missing, LacksBegun how many of them had
	// been acknowledged when the backup was begun.
	Lacks      int64 `json:"lacks"`
	LacksBegun int64 `json:"lacks_begun"`
}

// backupText says how large a backup is, how long it took, and what the load felt.
func (f *Fault) backupText() string {
	b := f.Backup
	if b == nil {
		return ""
	}
	text := fmt.Sprintf("; %s made %s in %s", b.By, quantity.Bytes(b.Bytes), seconds(b.Seconds))
	if b.Restore > 0 {
		text = fmt.Sprintf("; backup %d, %s, restored in %s", b.Number, quantity.Bytes(b.Bytes), seconds(b.Seconds))
	}
	if b.Before != nil && b.During != nil {
		text += fmt.Sprintf("; meanwhile %s/s (%s/s before it), p50 %s (%s), p99 %s (%s)",
			quantity.Figure(b.During.PerSecond), quantity.Figure(b.Before.PerSecond), millis(b.During.P50), millis(b.Before.P50),
			millis(b.During.P99), millis(b.Before.P99))
	}
	if m := b.Moment; m != nil {
		text += "; it lacks " + check.Counted(m.Lacks, "acknowledged operation", "acknowledged operations")
	}
	return text
}
