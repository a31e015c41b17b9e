package ycsb

import (
	"strconv"
	"strings"

	"assay/load"
	"assay/report"
	"assay/workload"
	"assay/workload/definition"
)

// Config is what a user can set of the workload. It is a definition.Config.
type Config struct {
	// Mix is one of YCSB's core workloads, "a" to "f", or the shares of the kinds of
	// operations, such as "read=0.9,update=0.1".
	Mix string `yaml:"mix" json:"mix"`
	// Records is how many are there before the run begins.
	Records int64 `yaml:"records" json:"records"`
	// Distribution is Zipfian, Uniform, Latest or Hotspot; empty for the mix's own.
	Distribution string `yaml:"distribution,omitempty" json:"distribution,omitempty"`
	// Fields is how many fields a record has, of FieldBytes bytes each.
	Fields     int `yaml:"fields" json:"fields"`
	FieldBytes int `yaml:"field_bytes" json:"field_bytes"`
	// ScanLength is the most records that a scan asks for; how many is chosen
	// uniformly from 1 on.
	ScanLength int `yaml:"scan_length" json:"scan_length"`
}

// The largest values of a Config.
const (
	MaxRecords    = 100_000_000
	MaxFields     = 100
	MaxFieldBytes = 8000
	// maxRecordBytes is less than a row of MySQL may have in columns of utf8mb4, four
	// bytes a character (manual, "Limits on Table Column Count and Row Size").
	maxRecordBytes = 16_000
	MaxScanLength  = 1000
	// minFieldBytes leave 30 bits to tell a field by beside its version.
	minFieldBytes = versionChars + 5
)

// Defaults returns the configuration of a run without flags, which is YCSB's.
func Defaults() Config {
	return Config{Mix: "a", Records: 1000, Fields: 10, FieldBytes: 100, ScanLength: 100}
}

// Validate returns a *workload.OptionError for the first value that cannot be used.
func (c Config) Validate() error {
	if _, _, err := mixOf(c.Mix); err != nil {
		return err
	}
	if err := definition.CheckRanges(c.Flags()); err != nil {
		return err
	}
	if c.Fields*c.FieldBytes > maxRecordBytes {
		return &workload.OptionError{Option: "--field-bytes", Value: strconv.Itoa(c.FieldBytes),
			Want: strconv.Itoa(maxRecordBytes/c.Fields) + " or less with --fields " + strconv.Itoa(c.Fields) + ": a record has at most " + strconv.Itoa(maxRecordBytes) + " bytes"}
	}
	return definition.OneOf("--distribution", c.Distribution, append(distributions(), "")...)
}

// Plan implements definition.Config.
func (c *Config) Plan(p load.Plan) (load.Plan, error) { return p, nil }

// Volume implements definition.Sized.
func (c *Config) Volume() definition.Volume {
	return definition.Volume{Rows: c.Records, RowBytes: int64(c.Fields*c.FieldBytes) + 50}
}

// Shape implements definition.Shaped.
func (c *Config) Shape() (fields, fieldBytes int) { return c.Fields, c.FieldBytes }

// shares are the mix and the distribution that are used, of a valid Config.
func (c *Config) shares() (mix, string) {
	m, distribution, _ := mixOf(c.Mix)
	if c.Distribution != "" {
		distribution = c.Distribution
	}
	return m, distribution
}

func (c *Config) Flags() []definition.Flag {
	var mixes []string
	for _, core := range coreMixes() {
		mixes = append(mixes, core.name)
	}
	return []definition.Flag{
		{Name: "mix", Value: &c.Mix, Usage: "YCSB's core workload a, b, c, d, e or f; or shares that add up to 1, such as read=0.7,update=0.2,insert=0.1 (read, update, insert, scan, rmw)", Values: mixes},
		{Name: "records", Value: &c.Records, Min: 1, Max: MaxRecords, Usage: "how many records are there before the run"},
		{Name: "distribution", Value: &c.Distribution, Usage: "how records are chosen: zipfian, uniform, latest or hotspot; by default as the mix has it", Values: distributions()},
		{Name: "fields", Value: &c.Fields, Min: 1, Max: MaxFields, Usage: "fields of a record"},
		{Name: "field-bytes", Value: &c.FieldBytes, Min: minFieldBytes, Max: MaxFieldBytes, Usage: "bytes of each field"},
		{Name: "scan-length", Value: &c.ScanLength, Min: 1, Max: MaxScanLength, Usage: "the most records that a scan asks for"},
	}
}

func (c *Config) Options(definition.Support) []report.Setting {
	m, distribution := c.shares()
	name := c.Mix
	if len(name) == 1 {
		name = strings.ToLower(name) + " (" + m.String() + ")"
	}
	settings := []report.Setting{
		{Name: "mix", Value: name}, {Name: "records", Value: strconv.FormatInt(c.Records, 10)},
		{Name: "distribution", Value: distribution},
		{Name: "fields", Value: strconv.Itoa(c.Fields) + " of " + strconv.Itoa(c.FieldBytes) + " bytes"},
	}
	if m.has(KindScan) {
		settings = append(settings, report.Setting{Name: "scan length", Value: "1 to " + strconv.Itoa(c.ScanLength)})
	}
	return settings
}
