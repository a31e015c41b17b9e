package ycsb

import (
	"context"
	"strconv"
	"strings"

	"assay/check"
	"assay/load"
	"assay/report"
	"assay/store"
	"assay/store/promise"
	"assay/workload/definition"
)

// Name names the workload.
const Name = "ycsb"

// Definition describes the workload.
func Definition() definition.Workload {
	return definition.Workload{
		Name: Name, Key: Name,
		Summary: "YCSB's core workloads A to F; every answer is recognized bit by bit, and the history of each record judged for linearizability",
		Short:   "YCSB's core workloads A to F, with every answer judged",
		Long: `YCSB's core workloads A to F, with every answer judged.

Clients read, update, insert and scan records, or read and then update them, in
the mix that --mix says: a (half reads, half updates), b (5 % updates), c (reads
alone), d (5 % inserts, and the newest are read), e (short scans and 5 % inserts)
or f (half reads, half read-modify-writes). --rate is YCSB's target. -P and -p take
YCSB's own property files and properties.

assay compares every record that is returned bit by bit, and judges each record's
history for linearizability where the database promises it. What differs from YCSB
is in docs/guides/ycsb.md.`,
		Example: `  assay run ycsb --mix b --records 10000 --clients 16
  assay run ycsb -P examples/ycsb/workloada -p recordcount=2000
  assay run ycsb --mix read=0.7,update=0.2,insert=0.1 --distribution uniform --db postgres://user@host/database
  assay run ycsb --mix a --rate 2000 --cluster cassandra:3 --option consistency=one`,
		Checks: []definition.Check{
			{Name: CheckRecords, Asserts: "Every acknowledged insert and update is there in the end, or what was written later; and nothing else is there.",
				Kinds: map[string]promise.Property{kindLost: promise.Durability, kindBehind: promise.LastWrite, kindFailed: promise.Atomicity}},
			{Name: CheckReads, Asserts: "Every record that was returned is whole, and was written by an operation of this run that had begun and did not fail.",
				Kinds: map[string]promise.Property{"failed": promise.Isolation, "mixed": promise.Atomicity}},
			{Name: CheckScans, Asserts: "Every scan is in the order of keys, with no record twice and no foreign one. Where the database promises it, no record is left out that was there before the scan began.",
				Kinds: map[string]promise.Property{"left out": promise.Recency}},
			{Name: CheckLinearizable, Asserts: "Where the database promises it, the history of every record is linearizable. Where it does not, reads that are older than what the same client had read or written before are counted.", Tests: promise.Recency,
				Kinds: map[string]promise.Property{kindLost: promise.Durability, kindBehind: promise.LastWrite}},
			{Name: CheckSessions, Asserts: "Where the database promises no linearizability but guarantees of a client's session (read your writes, monotonic reads, monotonic writes, writes follow reads), no read is older than these allow.", Tests: promise.Isolation},
		},
		Config:      func() definition.Config { c := Defaults(); return &c },
		Bugs:        Bugs(),
		Schema:      schemaOf,
		Needs:       []store.Need{{Capability: store.Changes}},
		State:       FileState,
		Operations:  operations(),
		Degradation: true,
	}
}

func (c *Config) Judge(_ context.Context, seed uint64, e definition.Evidence) (definition.Judgement, error) {
	results, f, err := Judge(*c, seed, e)
	if err != nil {
		return definition.Judgement{}, err
	}
	out := definition.Judgement{Results: results, WorkloadFigures: report.WorkloadFigures{YCSB: &f.YCSB}, Counts: f.Outcomes}
	out.Notes = e.UnknownNotes("write that ended unknown", "writes that ended unknown", f.Writes.Unknown, f.UnknownDone)
	return out, nil
}

// Config is a definition.Config.
type Config struct {
	Mix          string `yaml:"mix" json:"mix"`
	Records      int64  `yaml:"records" json:"records"`
	Distribution string `yaml:"distribution,omitempty" json:"distribution,omitempty"`
	Fields       int    `yaml:"fields" json:"fields"`
	FieldBytes   int    `yaml:"field_bytes" json:"field_bytes"`
	// ScanLength bounds the lengths, uniform from 1 on.
	ScanLength int    `yaml:"scan_length" json:"scan_length"`
	Read       string `yaml:"read,omitempty" json:"read,omitempty"`
	// Properties are YCSB's. If given, they replace the fields above, with YCSB's defaults.
	Properties map[string]string `yaml:"properties,omitempty" json:"properties,omitempty"`
	// FieldLengths is the file of the property fieldlengthhistogram.
	FieldLengths *histogram `yaml:"field_lengths,omitempty" json:"field_lengths,omitempty"`
	KeyColumn    string     `yaml:"key_column,omitempty" json:"key_column,omitempty"`

	given    givenProperties
	existing bool
}

// Limits of a Config.
const (
	MaxRecords    = 100_000_000
	MaxFields     = 100
	MaxFieldBytes = 8000
	// maxRecordBytes fits into a MySQL row of utf8mb4 columns, four bytes a character (manual,
	// "Limits on Table Column Count and Row Size").
	maxRecordBytes = 16_000
	MaxScanLength  = 1000
	// minFieldBytes leaves 30 bits to recognize a field beside its version.
	minFieldBytes = versionChars + 5
)

// Defaults returns YCSB's configuration.
func Defaults() Config {
	return Config{Mix: "a", Records: 1000, Fields: 10, FieldBytes: 100, ScanLength: 100}
}

func (c Config) Validate() error {
	if _, _, err := mixOf(c.Mix); err != nil {
		return err
	}
	if err := definition.CheckFlags(c.Flags()); err != nil {
		return err
	}
	if len(c.Properties) > 0 {
		_, err := c.core()
		return err
	}
	if c.Fields*c.FieldBytes > maxRecordBytes {
		return &store.OptionError{Option: "--field-bytes", Value: strconv.Itoa(c.FieldBytes),
			Want: strconv.Itoa(maxRecordBytes/c.Fields) + " or less with --fields " + strconv.Itoa(c.Fields) + ": a record has at most " + strconv.Itoa(maxRecordBytes) + " bytes"}
	}
	return nil
}

// Plan lets clients take turns on one thread. Every retry is safe: attempts write own versions.
func (c *Config) Plan(p load.Plan) (load.Plan, error) {
	p.Sequential = true
	return p, nil
}

func (c *Config) Volume() definition.Volume {
	of, _ := c.core()
	return definition.Volume{Rows: of.count, RowBytes: int64(of.fields*of.lengths.max) + 50, Inserts: of.shares[KindInsert]}
}

// NotApplicable are the checks of reads if the mix reads nothing.
func (c *Config) NotApplicable() (all []check.NotApplicable) {
	of, _ := c.core()
	m := of.shares
	if !m.has(KindRead, KindScan, KindReadModifyWrite) {
		why := "the mix reads nothing; what was written is judged by what is read back at the end"
		for _, name := range []string{CheckReads, CheckLinearizable, CheckSessions} {
			all = append(all, check.NotApplicable{Name: name, Reason: why})
		}
	}
	if !m.has(KindScan) {
		all = append(all, check.NotApplicable{Name: CheckScans, Reason: "the mix has no scans"})
	}
	return all
}

func (c *Config) Flags() []definition.Flag {
	var mixes []string
	for _, core := range coreMixes() {
		mixes = append(mixes, core.name)
	}
	return []definition.Flag{
		{Name: "mix", Value: &c.Mix, Usage: "YCSB's core workload a, b, c, d, e or f; or shares that add up to 1, such as read=0.7,update=0.2,insert=0.1 (read, update, insert, scan, rmw)", Values: mixes, Open: true},
		{Name: "records", Value: &c.Records, Min: 1, Max: MaxRecords, Usage: "how many records are there before the run"},
		{Name: "distribution", Value: &c.Distribution, Usage: "how records are chosen: zipfian, uniform, latest or hotspot; by default as the mix has it", Values: distributions(), Empty: true},
		{Name: "fields", Value: &c.Fields, Min: 1, Max: MaxFields, Usage: "fields of a record"},
		{Name: "field-bytes", Value: &c.FieldBytes, Min: minFieldBytes, Max: MaxFieldBytes, Usage: "bytes of each field"},
		{Name: "scan-length", Value: &c.ScanLength, Min: 1, Max: MaxScanLength, Usage: "the most records that a scan asks for"},
		{Name: "read", Value: &c.Read, Usage: "who answers reads and scans, as far as an address names several: primary, secondary-preferred or nearest; reads older than what the same client has seen are counted", Values: store.Readers(), Empty: true},
		{Name: "property-file", Short: "P", Value: c.propertyFiles(), Usage: "a property file of YCSB's core workload, such as workloada; repeatable, the later one counts"},
		{Name: "property", Short: "p", Value: c.propertyValues(), Usage: "a property, as NAME=VALUE such as recordcount=1000; repeatable, and counts before any file"},
		{Name: "key-column", Value: &c.KeyColumn, Usage: "with properties or --use-existing: what the column of the key is called (default " + defaultKeyColumn + "); y_id in tables that YCSB's driver for Cassandra uses"},
	}
}

func (c *Config) Options(definition.Support) []report.Setting {
	of, _ := c.core()
	var settings []report.Setting
	if c.Read != "" {
		settings = append(settings, report.Setting{Name: "read", Value: c.Read})
	}
	if len(c.Properties) > 0 {
		return append(append(settings, report.Setting{Name: "operations", Value: of.shares.String()}, report.Setting{Name: "properties", Value: inForce(c.Properties)}), of.judged()...)
	}
	m, distribution := of.shares, of.distribution
	name := c.Mix
	if len(name) == 1 {
		name = strings.ToLower(name) + " (" + m.String() + ")"
	}
	settings = append(settings,
		report.Setting{Name: "mix", Value: name}, report.Setting{Name: "records", Value: strconv.FormatInt(c.Records, 10)},
		report.Setting{Name: "distribution", Value: distribution},
		report.Setting{Name: "fields", Value: strconv.Itoa(c.Fields) + " of " + strconv.Itoa(c.FieldBytes) + " bytes"},
	)
	if m.has(KindScan) {
		settings = append(settings, report.Setting{Name: "scan length", Value: "1 to " + strconv.Itoa(c.ScanLength)})
	}
	return settings
}
