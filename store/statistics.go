package store

import "context"

// Statistics reads a database's account of its own work now and then during a run. It has at most
// one connection, and makes a new one after an error. One goroutine at a time uses it.
type Statistics interface {
	// List returns the figures that a Reading of this product can hold.
	List() []Statistic
	// Read asks one server, the primary if there is one, by a few short queries. It changes
	// nothing, and returns by the end of ctx.
	Read(ctx context.Context) (Reading, error)
	// Close closes the connection, within a bounded time.
	Close()
}

// Statistic is one figure that a server keeps.
type Statistic struct {
	// Name is for people and unique in its list. Figures of a Chart share a picture and a Unit.
	Name  string `json:"name"`
	Chart string `json:"chart"`
	// Unit is "bytes", "s", "%", or empty for a number.
	Unit string `json:"unit,omitempty"`
	// Counter is true of a figure that only grows until a restart. Its growth a second matters.
	Counter bool    `json:"counter,omitempty"`
	Means   Meaning `json:"means,omitempty"`
}

// Meaning is what a figure says of a limit, in all products alike. The growth a second of a
// counter in seconds is how many waited on average.
type Meaning string

const (
	// BusySessions is how many client sessions work or wait within a statement.
	BusySessions Meaning = "busy"
	// LockWaits is how many sessions wait for another session's lock.
	LockWaits Meaning = "lock waits"
	DiskWaits Meaning = "disk waits"
	// MemoryWaits is how many sessions wait for a lock on the server's memory.
	MemoryWaits Meaning = "memory waits"
	// StandbyWaits is how many sessions wait for a standby to have their commit.
	StandbyWaits Meaning = "standby waits"
	// ClientWaits is how many sessions are in a transaction and wait for their client.
	ClientWaits Meaning = "client waits"
	// Paused is the time in seconds for which replication held all writers back.
	Paused Meaning = "paused"
)

// Reading has one server's figures at one moment by name. Unknown ones are absent.
type Reading struct {
	// Server identifies the server and its start. Counters of another one are not comparable.
	Server string             `json:"server"`
	Values map[string]float64 `json:"values"`
}

// NamedValue is a figure with the server's name for it.
type NamedValue struct {
	// Key is the server's name. The figure is value*Scale + Offset; Scale 0 means 1.
	Key           string
	Scale, Offset float64
	Statistic
}

// ReadingOf converts what a server told under its own names.
func ReadingOf(server string, figures []NamedValue, told func(key string) (float64, bool)) Reading {
	r := Reading{Server: server, Values: map[string]float64{}}
	for _, f := range figures {
		value, known := told(f.Key)
		if !known {
			continue
		}
		if f.Scale != 0 {
			value *= f.Scale
		}
		r.Values[f.Name] = value + f.Offset
	}
	return r
}

// ListOf returns the list of these figures.
func ListOf(figures []NamedValue) []Statistic {
	all := make([]Statistic, len(figures))
	for i, f := range figures {
		all[i] = f.Statistic
	}
	return all
}
