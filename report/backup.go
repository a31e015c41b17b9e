package report

import (
	"fmt"

	"assay/check"
	"assay/internal/quantity"
)

// Backup is a backup made during the load, or a restore beside the database.
type Backup struct {
	// Number counts the run's backups from 1. Restore counts restores; it is 0 for a backup.
	Number  int    `json:"number"`
	Restore int    `json:"restore,omitempty"`
	By      string `json:"by"`
	// Bytes is the backup's size, Seconds the time to make or to restore it.
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"`
	// Target is the moment to restore, in seconds since the run's start; nil for the backup's
	// own.
	Target *float64 `json:"target_s,omitempty"`
	// Before and During are the load before it and meanwhile; nil if not measured.
	Before *Felt   `json:"before,omitempty"`
	During *Felt   `json:"during,omitempty"`
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

// Moment lies between two times, in seconds since the start of the run: the start of the last
// transaction that is there, and the acknowledgement of the first one that is missing. Each is
// nil if there is none.
type Moment struct {
	From *float64 `json:"from_s,omitempty"`
	To   *float64 `json:"to_s,omitempty"`
	// Lacks counts missing acknowledged operations, LacksBegun the ones older than the backup.
	Lacks      int64 `json:"lacks"`
	LacksBegun int64 `json:"lacks_begun"`
}

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
