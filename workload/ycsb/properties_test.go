package ycsb

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/expect"
	"assay/load"
	"assay/store"
)

// TestPropertySyntax is Java's: comments, separators, continued lines, escapes; nothing is
// expanded, and the last of two counts.
func TestPropertySyntax(t *testing.T) {
	got, err := parseProperties([]byte("# a comment\n! another = 1\n\nrecordcount=10\nfieldcount: 3\nfieldlength 20\n" +
		"readproportion = \\\n   0.5 \ntable=us\\u0065rs\nrequestdistribution\nx\\=y=a\\:b\ntarget=${HOME}\nrecordcount=20\r\n"))
	expect.NoError(t, err)
	want := map[string]string{"recordcount": "20", "fieldcount": "3", "fieldlength": "20", "readproportion": "0.5 ", "table": "users",
		"requestdistribution": "", "x=y": "a:b", "target": "${HOME}"}
	if !maps.Equal(got, want) {
		t.Errorf("read %q, not %q", got, want)
	}
	if _, err := readProperties(filepath.Join(t.TempDir(), "none")); !errors.As(err, new(*PropertyError)) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// TestPropertiesOfOtherEditors: how lines end and a byte order mark change nothing, and what
// is no text is refused, where names made of its bytes would be ignored one and all.
func TestPropertiesOfOtherEditors(t *testing.T) {
	want := map[string]string{"recordcount": "40", "fieldcount": "2"}
	for _, text := range []string{
		"recordcount=40\nfieldcount=2", "recordcount=40\r\nfieldcount=2\r\n", "recordcount=40\rfieldcount=2\r", "\xef\xbb\xbfrecordcount=40\nfieldcount=2\n",
		"\t recordcount\t40\n\f\n  fieldcount  :  2\n", "record\\\r\n    count=40\r\n!recordcount=41\nfieldcount=\\\n2", "recordcount=\\u0034\\u0030\nfieldcount=9\nfieldcount=2",
		"recordcount=40\n# no more \\\nfieldcount=2\\", "record\\\n\\\n \\\ncount=40\nfieldcount=2",
	} {
		got, err := parseProperties([]byte(text))
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%q is %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"\x1f\x8b\x08\x00recordcount=40", "r\x00e\x00c\x00=\x004\x00", "recordcount=40\n\x01=2"} {
		got, err := parseProperties([]byte(text))
		if err == nil {
			t.Errorf("%q is read as %q", text, got)
			continue
		}
		expect.Text(t, text, err.Error(), "no text", "decompressed")
	}
}

// TestOwnTableHasOneName: only a table that is there is called as the property says. A run
// with other properties replaces what the last one left, and finds it by its name.
func TestOwnTableHasOneName(t *testing.T) {
	for _, values := range [][]string{nil, {"recordcount=40"}, {"table=orders"}, {"fieldcount=3", "fieldnameprefix=f"}} {
		c, _, _, err := proposed(t, nil, nil, values...)
		expect.NoError(t, err)
		of, err := c.core()
		if err != nil || of.table != ownTable {
			t.Errorf("%q makes %q, %v", values, of.table, err)
		}
	}
	c, _, _, err := proposed(t, nil, nil, "table=orders")
	expect.NoError(t, err)
	c.UseExisting()
	if of, err := c.core(); err != nil || of.table != "orders" {
		t.Errorf("a table that is there is %q, %v", of.table, err)
	}
}

func FuzzProperties(f *testing.F) {
	for _, text := range []string{"a=b\\\n  c", "\\u00", "#", "k\\", "fieldlength=1e9\nrecordcount=-1", "a:b=c"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := parseProperties(text)
		if err != nil {
			return
		}
		used, _, err := divide(all)
		if err != nil || len(used) == 0 {
			return
		}
		c := Defaults()
		if c.Properties = used; c.Validate() != nil {
			return
		}
		of, err := c.core()
		if err != nil || of.fields < 1 || of.count < 1 || of.lengths.max < 1 || of.lengths.min > of.lengths.max {
			t.Errorf("%q is %+v, %v", text, of, err)
		}
	})
}

// proposed is a configuration by these files and values, in the order of the command line.
func proposed(t *testing.T, flags map[string]string, files []string, values ...string) (*Config, load.Plan, []string, error) {
	t.Helper()
	c := Defaults()
	for i, text := range files {
		path := filepath.Join(t.TempDir(), "file"+string(rune('a'+i)))
		expect.NoError(t, os.WriteFile(path, []byte(text), 0o600), c.propertyFiles().Set(path))
	}
	for _, v := range values {
		expect.NoError(t, c.propertyValues().Set(v))
	}
	plan := load.Defaults()
	for _, f := range c.Flags() {
		if value, is := flags[f.Name]; is {
			switch v := f.Value.(type) {
			case *string:
				*v = value
			case *int64:
				*v = 77
			}
		}
	}
	notes, err := c.Propose(&plan, func(flag string) bool { _, is := flags[flag]; return is })
	return &c, plan, notes, err
}

// TestPropertiesAndFlags: of files the later counts, -p before any file, and a flag of assay's
// before all, which is said.
func TestPropertiesAndFlags(t *testing.T) {
	c, plan, notes, err := proposed(t, nil, []string{"recordcount=10\nfieldcount=4\nthreadcount=9", "recordcount=20\noperationcount=500\nmaxexecutiontime=3\ntarget=100"}, "fieldcount=5")
	expect.NoError(t, err)
	if of, err := c.core(); err != nil || of.records != 20 || of.fields != 5 || of.writeAll || !of.readAll || of.distribution != Uniform || of.shares[KindRead] != 0.95 {
		t.Errorf("the core is %+v, %v", of, err)
	}
	if plan.Clients != 9 || plan.Ops != 500 || plan.Duration != 3*time.Second || !plan.Limited || plan.Rate != 100 || plan.Arrivals != load.Poisson || plan.Warmup != 0 || notes != nil {
		t.Errorf("the plan is %+v, %v", plan, notes)
	}
	expect.NoError(t, plan.Validate())

	c, plan, notes, err = proposed(t, map[string]string{"records": "", "mix": "f", "clients": "", "duration": ""},
		[]string{"recordcount=10\nreadproportion=1\nthreadcount=9\noperationcount=500\nrequestdistribution=latest"})
	expect.NoError(t, err)
	of, err := c.core()
	if err != nil || of.records != 77 || of.shares[KindReadModifyWrite] != 0.5 || of.shares[KindUpdate] != 0 || of.distribution != Latest {
		t.Errorf("the core is %+v, %v", of, err)
	}
	if plan.Clients != load.Defaults().Clients || plan.Ops != 0 {
		t.Errorf("the plan is %+v", plan)
	}
	for _, said := range []string{"--records wins over the property recordcount=10: recordcount=77", "--mix wins over the property readproportion=1: readproportion=0.5", "--clients wins over the property threadcount=9"} {
		if !slices.Contains(notes, said) {
			t.Errorf("%q does not say %s", notes, said)
		}
	}
}

// TestOtherProperties: what has no effect is said, what nobody knows too, and the nearest name.
func TestOtherProperties(t *testing.T) {
	_, _, notes, err := proposed(t, nil, nil, "mongodb.url=x", "hdrhistogram.percentiles=9", "db=x", "measurementtype=raw", "latencytrackederrors=TIMEOUT", "recordcuont=3", "core_workload_insertion_retry_limit=2",
		"workload=com.yahoo.ycsb.workloads.CoreWorkload")
	expect.NoError(t, err)
	all := strings.Join(notes, "\n")
	for _, said := range []string{"without effect", "core_workload_insertion_retry_limit, db, hdrhistogram.percentiles, latencytrackederrors, measurementtype, mongodb.url", "recordcuont; did you mean recordcount?"} {
		if !strings.Contains(all, said) {
			t.Errorf("%q does not say %q", all, said)
		}
	}
	_, _, _, err = proposed(t, nil, nil, "workload=core", "recordcount=10", "operationcount=20") // as go-ycsb's files have it
	expect.NoError(t, err)
	_, _, _, err = proposed(t, nil, nil, "workload=site.ycsb.workloads.RestWorkload")
	if refused, is := errors.AsType[*store.OptionError](err); !is || refused.Value != "site.ycsb.workloads.RestWorkload" {
		t.Errorf("another class: %v", err)
	}
}

func TestPropertiesThatCannotBe(t *testing.T) {
	for given, option := range map[string]string{
		"recordcount=0": "recordcount", "recordcount=ten": "recordcount", "fieldcount=101": "fieldcount", "fieldlength=2000": "fieldlength", "readallfields=yes": "readallfields",
		"requestdistribution=zipf": "requestdistribution", "insertstart=1000": "insertstart", "insertcount=2000": "insertcount|insertstart", "table=a;drop": "table", "table=": "",
		"readproportion=-1": "readproportion", "readproportion=0,updateproportion=0": "readproportion", "minscanlength=2000": "minscanlength", "insertorder=random": "insertorder",
		"dataintegrity=true,fieldlengthdistribution=uniform": "dataintegrity", "fieldlengthdistribution=uniform,minfieldlength=200": "minfieldlength",
		"scanproportion=1,maxscanlength=10000": "maxscanlength", "exponential.percentile=100": "exponential.percentile", "fieldlengthdistribution=histogram": "fieldlengthhistogram",
		"threadcount=2": "", "zeropadding=300": "zeropadding", "fieldnameprefix=1": "fieldnameprefix",
	} {
		c := Defaults()
		c.Properties = map[string]string{}
		for _, p := range strings.Split(given, ",") {
			name, value, _ := strings.Cut(p, "=")
			c.Properties[name] = value
		}
		err := c.Validate()
		refused, is := errors.AsType[*store.OptionError](err)
		if is != (option != "") || is && !slices.Contains(strings.Split(option, "|"), strings.TrimPrefix(refused.Option, "property ")) {
			t.Errorf("%s: %v", given, err)
		}
	}
}

// TestKeysAreYCSBs: the first two keys are those of every usertable that YCSB has loaded.
func TestKeysAreYCSBs(t *testing.T) {
	hashed, ordered := keys{texts: true, hashed: true, padding: 1}, keys{texts: true, padding: 12}
	for _, c := range []struct {
		keys   keys
		number int64
		text   string
	}{
		{hashed, 0, "user6284781860667377211"}, {hashed, 1, "user8517097267634966620"}, {ordered, 7, "user000000000007"}, {ordered, 1234567890123, "user1234567890123"},
		{keys{texts: true, hashed: true, padding: 22}, 0, "user0006284781860667377211"}, {keys{texts: true, padding: 1}, 0, "user0"},
	} {
		key := c.keys.keyOf(c.number)
		if got := c.keys.text(key); got != c.text || c.keys.read(got) != key {
			t.Errorf("number %d is %s, which is read as %d, not %d", c.number, got, c.keys.read(got), key)
		}
	}
	for _, strange := range []string{"", "user", "user-1", "user07", "User7", "user7 ", "user99999999999999999999", "7"} {
		if key := (keys{texts: true, padding: 1}).read(strange); key != -1 {
			t.Errorf("%q is key %d", strange, key)
		}
	}
	for _, k := range []keys{hashed, ordered, {texts: true, padding: 1}, {texts: true, padding: 25}, {texts: true, hashed: true, padding: 19}} {
		for a := range int64(300) {
			b := (a*7919 + 13) % 1_000_000
			x, y := k.keyOf(a), k.keyOf(b)
			if got, want := k.compare(x, y), strings.Compare(k.text(x), k.text(y)); got != want {
				t.Errorf("%s and %s compare as %d, not %d", k.text(x), k.text(y), got, want)
			}
		}
	}
}

// TestDeterministicValues: what a field holds where data integrity is asked for, worked out by
// Java's rules for hashes of strings.
func TestDeterministicValues(t *testing.T) {
	const want = "user6284781860667377211:field0:-56807877:2032869390:-165488160:1762371712:-169193395:-1039977118:-10"
	for _, length := range []int{len(want), 40, 5} {
		if got := deterministic("user6284781860667377211", "field0", length); got != want[:length] {
			t.Errorf("%d characters are %q, not %q", length, got, want[:length])
		}
	}
}

// TestFieldsAreRecognized in every form that properties give records.
func TestFieldsAreRecognized(t *testing.T) {
	v, _ := versionOf(3, 17, 1)
	for _, given := range []map[string]string{
		{"fieldcount": "3"}, {"fieldcount": "3", "writeallfields": "true"}, {"fieldcount": "3", "dataintegrity": "true"}, {"fieldcount": "3", "fieldlength": "5"},
		{"fieldcount": "3", "fieldlengthdistribution": "uniform", "minfieldlength": "16"}, {"fieldcount": "3", "fieldlengthdistribution": "zipfian", "minfieldlength": "20", "writeallfields": "true"},
	} {
		c := Defaults()
		c.Properties = given
		of, err := c.core()
		expect.NoError(t, err)
		contents := newContents(&of, 7)
		key := contents.keys.keyOf(12)
		want := v
		if of.fixed {
			want = fixed
		}
		row := contents.record(nil, key, v, everyField)
		for field := everyField; field < of.fields; field++ {
			part := row
			if field != everyField {
				part = []store.Value{row[0], row[1+field]}
			}
			got, found, err := contents.scan(store.Values(part), field, nil)
			if err != nil || got != key || slices.ContainsFunc(found, func(v version) bool { return v != want }) || field == everyField && int64(len(found)) != of.units() {
				t.Errorf("%v: field %d of %v is read as %d, %v, %v", given, field, part, got, found, err)
			}
			changed := slices.Clone(part)
			changed[1] = store.OfText(changed[1].Text[1:] + "x")
			if _, found, _ := contents.scan(store.Values(changed), field, nil); found[0] != garbled {
				t.Errorf("%v: a changed field %d is read as %v", given, field, found)
			}
		}
	}
}

func TestHistograms(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hist.txt")
	for text, problem := range map[string]string{
		"BlockSize\t10\n0\t1\n1\t0\n2\t3\n": "", "": "no bucket", "blocks\t10\n": "first line", "BlockSize\t0\n": "first line", "BlockSize\t10\n0\t0\n": "no bucket",
		"BlockSize\t10\n1\t5\n": "bucket 0 was to come", "BlockSize\t10\n0\tmany\n": "line 2",
	} {
		expect.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		h, err := readHistogram(path)
		if problem != "" {
			expect.Text(t, text, errorText(err), problem)
			continue
		}
		if expect.NoError(t, err); h == nil {
			continue
		}
		if least, most := h.bounds(); least != 10 || most != 30 {
			t.Errorf("%q is from %d to %d", text, least, most)
		}
	}
	c, _, _, err := proposed(t, nil, []string{"fieldlengthdistribution=histogram\nfieldlengthhistogram=" + written(t, "BlockSize\t10\n0\t0\n1\t1\n2\t3\n")})
	expect.NoError(t, err, c.Validate())
	of, err := c.core()
	if expect.NoError(t, err); of.lengths.min != 20 || of.lengths.max != 30 || of.fixed {
		t.Errorf("the lengths are %+v", of.lengths)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func written(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hist.txt")
	expect.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// TestKeptHistogram: a scenario that is changed needs the histogram's file no more, unless
// another is named.
func TestKeptHistogram(t *testing.T) {
	c := Defaults()
	c.Properties = map[string]string{"fieldlengthdistribution": histogramLength}
	c.FieldLengths = &histogram{Block: 20, Buckets: []int64{1}}
	plan := load.Defaults()
	none := func(string) bool { return false }
	expect.NoError(t, c.propertyValues().Set("fieldcount=3"))
	if _, err := c.Propose(&plan, none); err != nil || c.FieldLengths.Block != 20 || c.Properties["fieldcount"] != "3" {
		t.Errorf("%v, %+v, %v", err, c.FieldLengths, c.Properties)
	}
	expect.NoError(t, c.propertyValues().Set("fieldlengthhistogram=nowhere.txt"))
	if _, err := c.Propose(&plan, none); !errors.As(err, new(*store.OptionError)) {
		t.Errorf("a file that is not there: %v", err)
	}
}
