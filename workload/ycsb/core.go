package ycsb

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"assay/store"
)

// core is what a run does, by assay's flags or YCSB's properties.
type core struct {
	// keys lack the seed of the permutation.
	keys               keys
	table, key, prefix string
	fields             int
	lengths            lengths
	// readAll and writeAll are false if operations read or write one field.
	readAll, writeAll bool
	// fixed: key and field alone decide the content, which does not name its writer, as with
	// YCSB's data integrity or in short fields.
	fixed bool

	shares                          mix
	distribution                    string
	hotRecords, hotOperations       float64
	exponentialPercent, exponential float64
	scans                           lengths

	// records is the first number of an insert. The run loads count records from start on.
	records, start, count int64
	// expected is the number of inserts that YCSB expects.
	expected int64
	// existing is true if the table was there before.
	existing bool
}

// units is the number of versioned parts of a record: one, or one for each field.
func (c *core) units() int64 {
	if c.writeAll || c.fixed {
		return 1
	}
	return int64(c.fields)
}

// loaded reports whether the run loaded this record.
func (c *core) loaded(number int64) bool {
	return !c.existing && number >= c.start && number < c.start+c.count
}

func (c *core) keysOf(seed uint64) keys {
	if c.keys.texts {
		return c.keys
	}
	return newKeys(seed)
}

func (c *core) fieldName(i int) string { return c.prefix + strconv.Itoa(i) }

func (c *Config) core() (core, error) {
	if len(c.Properties) > 0 {
		return coreOf(c.Properties, c.FieldLengths, c.KeyColumn, c.existing)
	}
	shares, distribution, err := mixOf(c.Mix)
	if c.Distribution != "" {
		distribution = c.Distribution
	}
	return core{
		table: ownTable, key: "id", prefix: "field", fields: c.Fields, lengths: newLengths(constantLength, 1, c.FieldBytes, nil), readAll: true, writeAll: true,
		shares: shares, distribution: distribution, hotRecords: hotRecords, hotOperations: hotOperations,
		exponentialPercent: exponentialPercent, exponential: exponentialFraction,
		scans: newLengths(Uniform, 1, c.ScanLength, nil), records: c.Records, count: c.Records,
	}, err
}

// ownTable is fixed, so that a run finds and replaces the table of a run with other properties.
const ownTable = "record"

// coreOf is the core of YCSB's properties, or a *store.OptionError.
func coreOf(given map[string]string, h *histogram, keyColumn string, existing bool) (core, error) {
	r := &propertyReader{given: given}
	c := core{
		table: r.name("table", existing), key: cmp.Or(keyColumn, defaultKeyColumn), prefix: r.name("fieldnameprefix", false),
		keys:    keys{texts: true, hashed: r.choice("insertorder", "hashed", "ordered") == "hashed", padding: int(r.whole("zeropadding", 0, 200))},
		fields:  int(r.whole("fieldcount", 1, MaxFields)),
		readAll: r.truth("readallfields"), writeAll: r.truth("writeallfields"), fixed: r.truth("dataintegrity"),
		distribution: r.choice("requestdistribution", allDistributions()...),
		hotRecords:   r.number("hotspotdatafraction", 0, 1), hotOperations: r.number("hotspotopnfraction", 0, 1),
		exponentialPercent: r.number("exponential.percentile", 0.001, 99.999), exponential: r.number("exponential.frac", 0.000001, 1000),
		records: r.whole("recordcount", 1, MaxRecords), start: r.whole("insertstart", 0, MaxRecords), existing: existing,
	}
	if !existing {
		c.table = ownTable
	}
	c.count = c.records - c.start
	if given["insertcount"] != "" {
		c.count = r.whole("insertcount", 1, MaxRecords)
	}
	if c.count < 1 || c.start+c.count > c.records {
		r.refuse("insertstart", "insertstart and insertcount are to lie within recordcount", "together at most "+strconv.FormatInt(c.records, 10))
	}
	least := int(r.whole("minfieldlength", 1, MaxFieldBytes))
	law := r.choice("fieldlengthdistribution", constantLength, Uniform, Zipfian, histogramLength)
	c.lengths = newLengths(law, least, int(r.whole("fieldlength", 1, MaxFieldBytes)), h)
	least, most := int(r.whole("minscanlength", 1, maxScan)), int(r.whole("maxscanlength", 1, maxScan))
	c.scans = newLengths(r.choice("scanlengthdistribution", Uniform, Zipfian), least, most, nil)
	c.shares = r.shares()
	c.expected = int64(2 * float64(r.whole("operationcount", 0, 1<<40)) * c.shares[KindInsert])
	r.together(&c, law)
	c.fixed = c.fixed || c.lengths.min < minFieldBytes
	return c, r.err
}

// maxScan bounds maxscanlength; see together.
const maxScan = 10_000

// together refuses combinations that cannot work.
func (r *propertyReader) together(c *core, law string) {
	perRecord := 1 + int(c.units())
	if !c.readAll {
		perRecord = 2
	}
	switch {
	case r.err != nil:
	case law == histogramLength && c.lengths.histogram == nil:
		r.refuse("fieldlengthhistogram", "the histogram could not be read", "a file with BlockSize, a tab and a number, and then the buckets")
	case c.fixed && law != constantLength:
		r.refuse("dataintegrity", "fields of several lengths have no one content", "false with fieldlengthdistribution="+law)
	case law != constantLength && c.lengths.min > c.lengths.max:
		r.refuse("minfieldlength", "", "at most fieldlength, "+strconv.Itoa(c.lengths.max))
	case c.scans.min > c.scans.max:
		r.refuse("minscanlength", "", "at most maxscanlength, "+strconv.Itoa(c.scans.max))
	case c.fields*c.lengths.max > maxRecordBytes && !c.existing:
		r.refuse("fieldlength", "a record has at most "+strconv.Itoa(maxRecordBytes)+" bytes", strconv.Itoa(maxRecordBytes/c.fields)+" or less with fieldcount="+strconv.Itoa(c.fields))
	case c.lengths.max > MaxFieldBytes:
		r.refuse("fieldlengthhistogram", "it has fields of "+strconv.Itoa(c.lengths.max)+" bytes", strconv.Itoa(MaxFieldBytes)+" or less")
	case c.shares.has(KindScan) && c.scans.max*perRecord > maxScanned:
		r.refuse("maxscanlength", "a scan's answer is kept in the history, of which an operation may have "+strconv.Itoa(maxScanned)+" numbers", strconv.Itoa(maxScanned/perRecord)+" or less")
	}
}

// shares are proportions, which YCSB takes relative to their sum.
func (r *propertyReader) shares() mix {
	m, sum := mix{}, 0.0
	for kind, name := range proportions() {
		m[kind] = r.number(name, 0, 1e9)
		sum += m[kind]
	}
	if sum <= 0 && r.err == nil {
		r.refuse("readproportion", "all proportions are 0, so that there is nothing to do", "one above 0")
		return m
	}
	for kind := range m {
		m[kind] /= sum
	}
	return m
}

func proportions() map[uint8]string {
	return map[uint8]string{KindRead: "readproportion", KindUpdate: "updateproportion", KindInsert: "insertproportion",
		KindScan: "scanproportion", KindReadModifyWrite: "readmodifywriteproportion"}
}

// propertyReader reads properties with YCSB's defaults and keeps the first error.
type propertyReader struct {
	given map[string]string
	err   error
}

func (r *propertyReader) value(name string) string { return cmp.Or(r.given[name], defaults()[name]) }

func (r *propertyReader) refuse(name, reason, want string) {
	if r.err == nil {
		r.err = &store.OptionError{Option: "property " + name, Value: r.value(name), Reason: reason, Want: want}
	}
}

func (r *propertyReader) whole(name string, least, most int64) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(r.value(name)), 10, 64)
	if err != nil || n < least || n > most {
		r.refuse(name, "", strconv.FormatInt(least, 10)+" to "+strconv.FormatInt(most, 10))
	}
	return n
}

func (r *propertyReader) number(name string, least, most float64) float64 {
	n, err := strconv.ParseFloat(strings.TrimSpace(r.value(name)), 64)
	if err != nil || !(n >= least && n <= most) {
		r.refuse(name, "", "a number from "+strconv.FormatFloat(least, 'g', -1, 64)+" to "+strconv.FormatFloat(most, 'g', -1, 64))
	}
	return n
}

// truth is Java's Boolean.parseBoolean, but refuses other texts.
func (r *propertyReader) truth(name string) bool {
	return strings.EqualFold(r.choice(name, "true", "false"), "true")
}

func (r *propertyReader) choice(name string, possible ...string) string {
	v := strings.ToLower(strings.TrimSpace(r.value(name)))
	if !slices.Contains(possible, v) {
		r.refuse(name, "", strings.Join(possible, ", "))
	}
	return v
}

// name needs no quotes in any database; qualified permits dots.
func (r *propertyReader) name(property string, qualified bool) string {
	v := strings.TrimSpace(r.value(property))
	for i, c := range v {
		switch {
		case c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || i > 0 && c >= '0' && c <= '9':
		case c == '.' && qualified && i > 0 && i < len(v)-1:
		default:
			r.refuse(property, "", "letters, digits and underscores, a letter first")
		}
	}
	if v == "" || len(v) > 60 {
		r.refuse(property, "", "1 to 60 characters")
	}
	return v
}
