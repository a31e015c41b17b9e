package ycsb

import (
	"cmp"
	"fmt"
	"maps"
	"strconv"
	"time"

	"assay/load"
	"assay/store"
)

// defaultKeyColumn is the key's column in tables that YCSB's SQL driver makes.
const defaultKeyColumn = "ycsb_key"

// Propose takes the properties of -P and -p. assay's own flags win over properties.
func (c *Config) Propose(plan *load.Plan, given func(flag string) bool) (notes []string, err error) {
	if !c.given.any() {
		return nil, nil
	}
	before := c.Properties
	used, notes, err := divide(c.given.all())
	if err != nil {
		return nil, err
	}
	c.Properties = maps.Clone(before) // of a scenario that is changed
	if c.Properties == nil {
		c.Properties = map[string]string{}
	}
	maps.Copy(c.Properties, used)
	notes = append(notes, c.overruled(given)...)
	_, another := used["fieldlengthhistogram"]
	if c.Properties["fieldlengthdistribution"] == histogramLength && (another || c.FieldLengths == nil) {
		path := cmp.Or(c.Properties["fieldlengthhistogram"], defaults()["fieldlengthhistogram"])
		if c.FieldLengths, err = readHistogram(path); err != nil {
			return nil, &store.OptionError{Option: "property fieldlengthhistogram", Value: path, Reason: err.Error(), Want: "a file as YCSB reads it: BlockSize, a tab and a number, and then the buckets"}
		}
	}
	more, err := c.plan(plan, used, given)
	return append(notes, more...), err
}

// overruled lets the workload's flags win over properties, with notes about it.
func (c *Config) overruled(given func(flag string) bool) (notes []string) {
	win := func(flag, name, value string) {
		if before, is := c.Properties[name]; is && before != value {
			notes = append(notes, fmt.Sprintf("--%s wins over the property %s=%s: %s=%s", flag, name, before, name, value))
		}
		c.Properties[name] = value
	}
	if given("mix") {
		if shares, distribution, err := mixOf(c.Mix); err == nil {
			for kind, name := range proportions() {
				win("mix", name, strconv.FormatFloat(shares[kind], 'g', -1, 64))
			}
			if _, is := c.Properties["requestdistribution"]; !is {
				c.Properties["requestdistribution"] = distribution
			}
		}
	}
	for _, f := range []struct{ flag, name, value string }{
		{"records", "recordcount", strconv.FormatInt(c.Records, 10)}, {"distribution", "requestdistribution", c.Distribution},
		{"fields", "fieldcount", strconv.Itoa(c.Fields)}, {"field-bytes", "fieldlength", strconv.Itoa(c.FieldBytes)},
		{"scan-length", "maxscanlength", strconv.Itoa(c.ScanLength)},
	} {
		if given(f.flag) {
			win(f.flag, f.name, f.value)
		}
	}
	return notes
}

func (c *Config) plan(p *load.Plan, used map[string]string, given func(flag string) bool) (notes []string, err error) {
	r := &propertyReader{given: used}
	whole := func(name, flag string) (n int64, is bool) {
		if used[name] == "" {
			return 0, false
		}
		if n = r.whole(name, 0, 1<<40); n == 0 {
			return 0, false // as YCSB has it: without a limit
		}
		if given(flag) {
			notes = append(notes, fmt.Sprintf("--%s wins over the property %s=%s", flag, name, used[name]))
			return 0, false
		}
		return n, true
	}
	if n, is := whole("threadcount", "clients"); is {
		p.Clients = int(n)
	}
	if n, is := whole("target", "rate"); is {
		p.Rate = float64(n)
		if p.Arrivals == load.Closed {
			p.Arrivals = load.Poisson
		}
	}
	ops, counted := whole("operationcount", "ops")
	seconds, timed := whole("maxexecutiontime", "duration")
	counted, timed = counted && !given("duration"), timed && !given("ops")
	if (counted || timed) && !given("warmup") {
		p.Warmup = 0 // YCSB has none
	}
	if counted {
		p.Ops = uint64(ops)
	}
	if timed {
		p.Duration = time.Duration(seconds) * time.Second
		p.Limited = counted
	}
	return notes, r.err
}

// UseExisting turns the workload's flags into properties, unless there are any.
func (c *Config) UseExisting() {
	c.existing = true
	if len(c.Properties) > 0 {
		return
	}
	shares, distribution, err := mixOf(c.Mix)
	if err != nil {
		return // Validate says so
	}
	c.Properties = map[string]string{
		"recordcount": strconv.FormatInt(c.Records, 10), "requestdistribution": cmp.Or(c.Distribution, distribution), "fieldcount": strconv.Itoa(c.Fields),
		"fieldlength": strconv.Itoa(c.FieldBytes), "maxscanlength": strconv.Itoa(c.ScanLength),
	}
	for kind, name := range proportions() {
		c.Properties[name] = strconv.FormatFloat(shares[kind], 'g', -1, 64)
	}
}

func (c *Config) Touched() (read, written []string) {
	of, _ := c.core()
	read = []string{of.table} // it is read back in any case
	if of.shares.has(KindInsert, KindUpdate, KindReadModifyWrite) {
		written = []string{of.table}
	}
	return read, written
}

// Target implements definition.Targeting: it sets the shape of the records.
func (c *Config) Target(to *store.Target) {
	to.Read = c.Read
	of, err := c.core()
	if err != nil {
		return // Validate says so
	}
	to.Records = store.RecordShape{Table: of.table, Key: of.key, Texts: of.keys.texts, KeyLength: of.keys.length(), Prefix: of.prefix, Fields: of.fields, Length: of.lengths.max}
}
