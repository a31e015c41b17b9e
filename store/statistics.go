package store

import "context"

// Statistics is the account that a database keeps of its own work, read now and then
// while a run goes on. It has a connection of its own, at most one at a time, and
// makes a new one after an error. It is used by one goroutine at a time.
type Statistics interface {
	// List is the figures that a Reading of this product can hold.
	List() []Statistic
	// Read asks one server, the one that takes writes where there is one, by a few
	// short queries. It changes nothing, and returns when ctx ends at the latest.
	Read(ctx context.Context) (Reading, error)
	// Close closes the connection, within a bounded time.
	Close()
}

// Statistic is one figure that a server keeps.
type Statistic struct {
	// Name is for people and unique in its list. Figures with the same Chart are
	// drawn together, and have one Unit.
	Name  string `json:"name"`
	Chart string `json:"chart"`
	// Unit is of the values: "bytes", "s", "%", or empty for a number.
	Unit string `json:"unit,omitempty"`
	// Counter is true of a figure that only grows while the server runs: its growth
	// a second is what is looked at. Others are as they are at the moment.
	Counter bool `json:"counter,omitempty"`
	// Means is what the figure can show of a limit; empty of most.
	Means Meaning `json:"means,omitempty"`
}

// Meaning is what a figure can show of a limit, in every product alike. The growth a
// second of a counter in seconds is how many waited on average.
type Meaning string

// The meanings.
const (
	// BusySessions is how many sessions of clients are at work, those that wait for
	// something included.
	BusySessions Meaning = "busy"
	// LockWaits is how many sessions wait for a lock that another one holds.
	LockWaits Meaning = "lock waits"
	// DiskWaits is how many sessions wait for the disk.
	DiskWaits Meaning = "disk waits"
	// MemoryWaits is how many sessions wait for a lock on what the server has in memory.
	MemoryWaits Meaning = "memory waits"
	// StandbyWaits is how many sessions wait for a standby to have their commit.
	StandbyWaits Meaning = "standby waits"
	// ClientWaits is how many sessions are in a transaction and wait for their client. They are
	// not at work.
	ClientWaits Meaning = "client waits"
	// Paused is the time, in seconds, in which replication held all writers back.
	Paused Meaning = "paused"
)

// Reading is the figures of one server at one moment, by the names of the list. What
// the server does not tell is not there.
type Reading struct {
	// Server tells the server, and its uptime, from others: counters of another one
	// have nothing to do with these.
	Server string             `json:"server"`
	Values map[string]float64 `json:"values"`
}

// NamedValue is a figure as a server names it.
type NamedValue struct {
	// Key is the server's name of it, Scale what its value is multiplied by (0
	// means 1), and Offset what is added then.
	Key           string
	Scale, Offset float64
	Statistic
}

// ReadingOf is the reading of what a server told by its own names.
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

// ListOf is the list of these figures.
func ListOf(figures []NamedValue) []Statistic {
	all := make([]Statistic, len(figures))
	for i, f := range figures {
		all[i] = f.Statistic
	}
	return all
}
