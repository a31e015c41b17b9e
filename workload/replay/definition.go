// Package replay is the workload of a recording (assay capture): the statements of its
// sessions are sent again, each session over a connection of its own, at the recorded times, faster, or as
// fast as their order allows. What each took and how it ended is held against the recording.
//
// Statements are sent as they are, to the tables that are there. It must not know any driver.
package replay

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"assay/load"
	"assay/report"
	"assay/store"
	"assay/store/promise"
	"assay/workload/definition"
)

const Name = "replay"

// CheckOutcomes is the name of the check.
const CheckOutcomes = "outcomes"

// FileState is the name of what is saved in a run's folder.
const FileState = "replay.json"

func Definition() definition.Workload {
	return definition.Workload{
		Name: Name, Key: Name, Argument: "recording",
		Summary: "a recorded workload, sent again, each statement beside what it took then",
		Short:   "A recorded workload, sent again",
		Long: `A recorded workload, sent again: each session over a connection of its own, its
statements in their order, at the recorded times (--speed 1), at N times the pace, or
as fast as possible (--speed max). Each statement's time and how it ended stand beside
the recording's.

FILE is what assay capture has made of a server's log. Statements are sent as they
are, to the tables of the database at --db, and CHANGE what is there: this needs
--use-existing, and which tables are named is said before. Use a copy of the database
as it was when the log began. docs/capture.md has all of it.`,
		Example: `  assay capture postgresql.log -o shop.replay
  assay run replay shop.replay --db postgres://user@localhost/copy --use-existing
  assay run replay shop.replay --db postgres://user@localhost/copy --use-existing --speed max`,
		Checks: []definition.Check{{Name: CheckOutcomes, Tests: promise.Rules,
			Asserts: "Each statement ended as it had in the recording: done, or refused by the server. One that did not proves nothing against the database, so that there is no verdict then."}},
		Schema: func(target store.Target) (store.Schema, error) {
			return store.Schema{Workload: Name, Transactions: true, Open: true, Existing: true}, nil
		},
		Needs:      []store.Need{{Capability: store.Language}, {Capability: store.SQL}, {Capability: store.Transactions}},
		Config:     func() definition.Config { return &Config{Speed: "1"} },
		State:      FileState,
		Operations: map[uint8]string{KindConnect: "connect", KindRead: "read", KindWrite: "write", KindTransaction: "transaction control", KindOther: "other statement"},
		Unused:     []string{"clients", "rate", "arrivals", "duration", "ops", "warmup", "ramp", "retry", "max-attempts", "overhead"},
		WhyUnused:  "cannot be used: what is sent, and when, is the recording's to say; see --speed",
	}
}

// Config is what a user can set of the workload. It is a definition.Config.
type Config struct {
	// File is the recording.
	File string `yaml:"file" json:"file"`
	// Speed is how many times as fast as in the recording, or SpeedMax.
	Speed string `yaml:"speed" json:"speed"`
	// ShowValues has reports show the statements and errors as they are.
	ShowValues bool `yaml:"show_values,omitempty" json:"show_values,omitempty"`

	existing bool
	// of is the recording that File was when index was read.
	of    string
	index *index
	err   error
}

// SpeedMax is as fast as the order of the recording allows.
const SpeedMax = "max"

func (c *Config) Flags() []definition.Flag {
	return []definition.Flag{
		{Name: "recording", Value: &c.File, Usage: "the recording, as FILE behind the command"},
		{Name: "speed", Value: &c.Speed, Usage: "how many times as fast as in the recording, such as 1, 0.5 or 10; or max: without pauses, transactions that did not overlap one after the other", Values: []string{"1", "10", SpeedMax}, Open: true, Setting: "speed"},
		{Name: "show-values", Value: &c.ShowValues, Usage: "show statements and errors in reports with their values"},
	}
}

// UseExisting implements definition.Existing.
func (c *Config) UseExisting() { c.existing = true }

// Touched implements definition.Existing.
func (c *Config) Touched() (read, written []string) {
	x, err := c.read()
	if err != nil {
		return nil, nil
	}
	return x.touched.Read, x.touched.Written
}

// read is the index of the recording, which is read once.
func (c *Config) read() (*index, error) {
	if c.of != c.File || c.index == nil && c.err == nil {
		c.of = c.File
		c.index, c.err = readIndex(c.File)
	}
	return c.index, c.err
}

// times is how many times as fast; 0 for SpeedMax.
func (c *Config) times() (float64, error) {
	if c.Speed == SpeedMax {
		return 0, nil
	}
	times, err := strconv.ParseFloat(c.Speed, 64)
	if err != nil || !(times >= 0.001 && times <= 1e6) {
		return 0, &store.OptionError{Option: "--speed", Value: c.Speed, Want: "0.001 to 1000000, or max"}
	}
	return times, nil
}

func (c *Config) Validate() error {
	if c.File == "" {
		return &store.OptionError{Option: "recording", Want: "a file: assay run replay FILE"}
	}
	if _, err := c.times(); err != nil {
		return err
	}
	x, err := c.read()
	if err != nil {
		return err
	}
	if !c.existing {
		return &store.OptionError{Option: "replay", Value: filepath.Base(c.File),
			Reason: "its statements are sent as they are and change the tables that are in the database: " + x.names(), Want: "with --use-existing, on a copy of the database"}
	}
	return nil
}

// names are the tables that statements name.
func (x *index) names() string {
	list := func(names []string) string {
		const most = 20
		if len(names) > most {
			return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
		}
		if len(names) == 0 {
			return "none"
		}
		return strings.Join(names, ", ")
	}
	return "it reads " + list(x.touched.Read) + " and writes " + list(x.touched.Written)
}

// Plan has as many clients as sessions were open at a time, and as many operations as the
// recording has.
func (c *Config) Plan(p load.Plan) (load.Plan, error) {
	x, err := c.read()
	if err != nil {
		return p, nil // Validate says so
	}
	p.Clients, p.Ops = len(x.lanes), x.operations
	p.Rate, p.Warmup, p.Ramp, p.Retry = 0, 0, 0, load.RetryNone
	p.Arrivals = load.Recorded
	if c.Speed == SpeedMax {
		p.Arrivals = load.Closed
	}
	return p, nil
}

func (c *Config) Options(definition.Support) []report.Setting {
	return append([]report.Setting{{Name: "recording", Value: filepath.Base(c.File)}}, definition.Settings(c.Flags())...)
}
