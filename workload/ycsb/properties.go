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
	"assay/workload/definition"
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

// propertyFiles and propertyValues are the values of -P and -p.
func (c *Config) propertyFiles() definition.Several {
	g := &c.given
	return definition.Several{Kind: "file", Given: func() []string { return g.files }, Add: g.addFile,
		Clear: func() { g.files, g.inFiles = nil, nil }}
}

func (c *Config) propertyValues() definition.Several {
	g := &c.given
	return definition.Several{Kind: "name=value", Given: func() []string { return g.values }, Add: g.addValue,
		Clear: func() { g.values, g.named = nil, nil }}
}

func (g *givenProperties) addFile(path string) error {
	all, err := readProperties(path)
	if err != nil {
		return err
	}
	if g.inFiles == nil {
		g.inFiles = map[string]string{}
	}
	maps.Copy(g.inFiles, all)
	g.files = append(g.files, path)
	return nil
}

func (g *givenProperties) addValue(text string) error {
	name, value, found := strings.Cut(text, "=")
	if name = strings.TrimSpace(name); !found || name == "" {
		return fmt.Errorf("%q is not NAME=VALUE, such as recordcount=1000", text)
	}
	if g.named == nil {
		g.named = map[string]string{}
	}
	g.named[name] = value
	g.values = append(g.values, text)
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
