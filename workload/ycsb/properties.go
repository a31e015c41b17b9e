package ycsb

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/magiconair/properties"

	"assay/internal/spelling"
	"assay/store"
)

// defaults are the documented properties of YCSB 0.17's CoreWorkload and Client that decide a
// run.
func defaults() map[string]string {
	return map[string]string{
		"table": "usertable", "fieldcount": "10", "fieldlength": "100", "minfieldlength": "1", "fieldlengthdistribution": constantLength,
		"fieldlengthhistogram": "hist.txt", "fieldnameprefix": "field", "readallfields": "true", "writeallfields": "false", "dataintegrity": "false",
		"readproportion": "0.95", "updateproportion": "0.05", "insertproportion": "0", "scanproportion": "0", "readmodifywriteproportion": "0",
		"requestdistribution": Uniform, "hotspotdatafraction": "0.2", "hotspotopnfraction": "0.8",
		"exponential.percentile": "95", "exponential.frac": "0.8571428571",
		"zeropadding": "1", "insertorder": "hashed", "minscanlength": "1", "maxscanlength": "1000", "scanlengthdistribution": Uniform,
		"insertstart": "0", "insertcount": "", "recordcount": "1000", "operationcount": "0",
		"maxexecutiontime": "", "target": "", "threadcount": "1", "workload": coreWorkload,
	}
}

const coreWorkload = "site.ycsb.workloads.CoreWorkload"

// coreWorkloads are the class's names in versions of YCSB and in go-ycsb.
func coreWorkloads() []string {
	return []string{coreWorkload, "com.yahoo.ycsb.workloads.CoreWorkload", "core"}
}

// withoutEffect are YCSB's properties that assay ignores. Drivers' properties have a dot.
func withoutEffect() []string {
	return []string{"db", "core_workload_insertion_retry_limit", "core_workload_insertion_retry_interval", "readallfieldsbyname", "measurementtype", "reportlatencyforeacherror", "latencytrackederrors",
		"exporter", "exportfile", "dotransactions", "label", "hosts", "port"}
}

// PropertyError means that a property file cannot be read.
type PropertyError struct {
	Path string
	Err  error
}

func (e *PropertyError) Error() string {
	return fmt.Sprintf("property file %s: %v", e.Path, e.Err)
}
func (e *PropertyError) Unwrap() error { return e.Err }

// mostPropertyBytes bounds a file.
const mostPropertyBytes = 1 << 20

// readProperties reads a file as Java's Properties.load does, and expands no values.
func readProperties(path string) (map[string]string, error) {
	info, err := os.Stat(path)
	if err == nil && info.Size() > mostPropertyBytes {
		err = fmt.Errorf("it has %d bytes, more than %d", info.Size(), mostPropertyBytes)
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, &PropertyError{path, err}
	}
	all, err := parseProperties(text)
	if err != nil {
		return nil, &PropertyError{path, fmt.Errorf("%w; a line is NAME=VALUE, as Java's Properties reads it", err)}
	}
	return all, nil
}

// parseProperties drops a byte order mark, and refuses control characters, as of a compressed
// file.
func parseProperties(text []byte) (map[string]string, error) {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if at := bytes.IndexFunc(text, func(c rune) bool { return c < ' ' && !strings.ContainsRune("\t\n\f\r", c) }); at >= 0 {
		return nil, fmt.Errorf("it is no text: byte %d is a control character; give it decompressed, in UTF-8 or ISO 8859-1", at+1)
	}
	loader := properties.Loader{Encoding: properties.ISO_8859_1, DisableExpansion: true}
	all, err := loader.LoadBytes(joined(text))
	if err != nil {
		return nil, err
	}
	return all.Map(), nil
}

// joined puts each property on one line as Java does: a final backslash continues a line. A
// property keeps its first line's number.
func joined(text []byte) []byte {
	text = bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
	all, further := make([]byte, 0, len(text)), 0
	for line := range bytes.Lines(text) {
		line = bytes.TrimLeft(bytes.TrimSuffix(line, []byte("\n")), " \t\f")
		if further == 0 && len(line) > 0 && (line[0] == '#' || line[0] == '!') {
			line = nil
		}
		all = append(all, line...)
		if (len(line)-len(bytes.TrimRight(line, `\`)))%2 == 1 {
			all, further = all[:len(all)-1], further+1
			continue
		}
		all = append(append(all, '\n'), bytes.Repeat([]byte("\n"), further)...)
		further = 0
	}
	return all
}

// propertyFiles and propertyValues are the pflag.Values of -P and -p. They keep the order given.
type (
	propertyFiles  struct{ of *Config }
	propertyValues struct{ of *Config }
)

func (propertyFiles) Type() string  { return "file" }
func (propertyValues) Type() string { return "name=value" }

func (f propertyFiles) String() string {
	if f.of == nil {
		return ""
	}
	return strings.Join(f.of.given.files, ",")
}

func (f propertyValues) String() string {
	if f.of == nil {
		return ""
	}
	return strings.Join(f.of.given.values, ",")
}

func (f propertyFiles) Set(path string) error {
	all, err := readProperties(path)
	if err != nil {
		return err
	}
	if f.of.given.inFiles == nil {
		f.of.given.inFiles = map[string]string{}
	}
	maps.Copy(f.of.given.inFiles, all)
	f.of.given.files = append(f.of.given.files, path)
	return nil
}

func (f propertyValues) Set(text string) error {
	name, value, found := strings.Cut(text, "=")
	if name = strings.TrimSpace(name); !found || name == "" {
		return fmt.Errorf("%q is not NAME=VALUE, such as recordcount=1000", text)
	}
	if f.of.given.named == nil {
		f.of.given.named = map[string]string{}
	}
	f.of.given.named[name] = value
	f.of.given.values = append(f.of.given.values, text)
	return nil
}

// GetSlice, Append and Replace implement pflag.SliceValue.
func (f propertyFiles) GetSlice() []string  { return f.of.given.files }
func (f propertyValues) GetSlice() []string { return f.of.given.values }

func (f propertyFiles) Append(path string) error  { return f.Set(path) }
func (f propertyValues) Append(text string) error { return f.Set(text) }

func (f propertyFiles) Replace(all []string) error {
	f.of.given.files, f.of.given.inFiles = nil, nil
	return setAll(all, f.Set)
}

func (f propertyValues) Replace(all []string) error {
	f.of.given.values, f.of.given.named = nil, nil
	return setAll(all, f.Set)
}

func setAll(all []string, set func(string) error) error {
	for _, one := range all {
		if err := set(one); err != nil {
			return err
		}
	}
	return nil
}

// givenProperties are of -P and -p; -p wins, wherever it stands.
type givenProperties struct {
	files, values  []string
	inFiles, named map[string]string
}

func (g *givenProperties) any() bool { return len(g.files)+len(g.values) > 0 }

// all are the merged properties.
func (g *givenProperties) all() map[string]string {
	all := maps.Clone(g.inFiles)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, g.named)
	return all
}

// divide separates properties that decide a run from others; notes say why these do not.
func divide(all map[string]string) (used map[string]string, notes []string, err error) {
	used = map[string]string{}
	var idle, unknown []string
	known := slices.Sorted(maps.Keys(defaults()))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		_, core := defaults()[name]
		switch {
		case name == "workload" && !slices.Contains(coreWorkloads(), all[name]):
			return nil, nil, &store.OptionError{Option: "property workload", Value: all[name], Reason: "assay has YCSB's core workload alone", Want: strings.Join(coreWorkloads(), ", ")}
		case core:
			used[name] = all[name]
		case slices.Contains(withoutEffect(), name) || strings.Contains(name, "."):
			idle = append(idle, name)
		default:
			unknown = append(unknown, name+spelling.Hint(name, "", known))
		}
	}
	if idle != nil {
		notes = append(notes, "properties without effect here, which are of YCSB's drivers, its measurements or its loading: "+strings.Join(idle, ", "))
	}
	if unknown != nil {
		notes = append(notes, "properties that YCSB's core workload does not have, ignored as YCSB does: "+strings.Join(unknown, ", "))
	}
	return used, notes, nil
}

// ofLoad are shown in the report as the load.
func ofLoad() []string {
	return []string{"operationcount", "maxexecutiontime", "target", "threadcount", "workload"}
}

// inForce lists all properties, with defaults.
func inForce(given map[string]string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(defaults())) {
		value, is := given[name]
		if !is {
			value = defaults()[name]
		}
		if value != "" && !slices.Contains(ofLoad(), name) && (is || name != "fieldlengthhistogram") {
			all = append(all, name+"="+value)
		}
	}
	return strings.Join(all, ", ")
}
