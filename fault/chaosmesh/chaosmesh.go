// Package chaosmesh translates Chaos Mesh's YAML files into faults. It refuses what no fault stands
// for, with the line, the field and what to write instead, and leaves nothing out in silence. The
// fields are those of chaos-mesh/api, v1alpha1, and older ones of Chaos Mesh 1.x.
//
// It must not know how a fault is brought about, and reaches no cluster.
package chaosmesh

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"assay/fault"
)

// Where is what the faults are done to, and when.
type Where struct {
	// Namespace is the pods' namespace; empty for nodes that assay starts, where labels select
	// nothing.
	Namespace string
	// At is the time of objects without a schedule, such as 10s; empty leaves it open.
	At string
}

// Translation is a fault with where it came from.
type Translation struct {
	// Fault has the file, the line and the object in its Source.
	Fault fault.Fault
	Notes []string
}

// String is the translation in a line.
func (t Translation) String() string {
	source := t.Fault.Source
	text := source + ": " + t.Fault.Written().String()
	if len(t.Notes) > 0 {
		text += " (" + strings.Join(t.Notes, "; ") + ")"
	}
	return text
}

// Read translates all documents of a file. path is for messages and sources. The error is an
// *Error.
func Read(path string, text []byte, where Where) ([]Translation, error) {
	r := &reader{path: path}
	if len(text) > mostBytes {
		r.refuse(1, "", "split it", "the file is larger than %d bytes", mostBytes)
		return nil, r.err
	}
	var all []Translation
	parts := documents(string(text))
	if len(parts) == 0 {
		r.refuse(1, "", "write an object of Chaos Mesh, such as kind: PodChaos", "the file is empty")
	}
	for _, part := range parts {
		if body := r.parse(part); body != nil {
			all = append(all, r.translate(body, where)...)
		}
	}
	if r.err != nil {
		return nil, r.err
	}
	if where.At != "" && !slices.ContainsFunc(all, func(t Translation) bool { return t.Fault.At >= 0 }) {
		return nil, &Error{Path: path, Problem: "all its objects have a schedule of their own", Want: "write the file without at " + where.At}
	}
	return all, nil
}

// mostBytes bounds a file, since the parser of YAML is recursive.
const mostBytes = 256 << 10

type reader struct {
	path string
	err  error // the first
}

type document struct {
	r     *reader
	where Where
	// kind, name and namespace are the object's; namespace may be empty.
	kind, name, namespace string
	line                  int
	// every is the schedule's period; 0 without one.
	every  time.Duration
	drafts []*draft
	notes  []string
}

type draft struct {
	action, target string
	// length is how long it lasts, or how long an action that ends at once leaves its effect.
	length time.Duration
}

func (d *document) pods() bool { return d.where.Namespace != "" }

func (d *document) note(text string) {
	if !slices.Contains(d.notes, text) {
		d.notes = append(d.notes, text)
	}
}

func (d *document) add(action, target string) *draft {
	d.drafts = append(d.drafts, &draft{action: action, target: target})
	return d.drafts[len(d.drafts)-1]
}

// specs are the readers of the supported kinds, by the kind and by its field in a Schedule. Chaos
// Mesh 1.x wrote IoChaos for IOChaos.
func specs() map[string]func(*document, *mapping) {
	return map[string]func(*document, *mapping){
		"PodChaos": (*document).podChaos, "NetworkChaos": (*document).networkChaos, "IOChaos": (*document).ioChaos, "IoChaos": (*document).ioChaos,
		"StressChaos": (*document).stressChaos, "TimeChaos": (*document).timeChaos,
	}
}

const (
	kindSchedule = "Schedule"
	wantKind     = "write PodChaos, NetworkChaos, IOChaos, StressChaos, TimeChaos or a Schedule of one of them"
)

func (r *reader) translate(body ast.Node, where Where) []Translation {
	m := r.mapping(body, "")
	d := &document{r: r, where: where, kind: m.text("kind"), line: m.line}
	switch version := m.text("apiVersion"); version {
	case "chaos-mesh.org/v1alpha1", "pingcap.com/v1alpha1":
	default:
		m.refuse("apiVersion", "write chaos-mesh.org/v1alpha1, and keep other objects in a file of their own", "%q is not Chaos Mesh's", version)
	}
	about := m.sub("metadata")
	d.name, d.namespace = about.text("name"), about.text("namespace")
	if d.name == "" {
		d.name = about.text("generateName")
	}
	if notes := about.sub("annotations"); notes.has("experiment.chaos-mesh.org/pause") && notes.text("experiment.chaos-mesh.org/pause") != "false" {
		notes.refuse("experiment.chaos-mesh.org/pause", "take the annotation out", "the object is paused")
	}
	m.take("status")
	spec := m.sub("spec")
	read, known := specs()[d.kind]
	switch {
	case d.kind == kindSchedule:
		d.schedule(spec)
	case !known:
		m.refuse("kind", wantKind, "no fault of assay stands for kind %q", d.kind)
	default:
		d.spec(spec, read)
	}
	m.done()
	return d.faults(spec)
}

// spec reads the fields that all kinds share, and then the rest.
func (d *document) spec(m *mapping, read func(*document, *mapping)) {
	if m.line == 0 || len(m.fields) == 0 {
		m.refuse("action", "", "the spec is missing")
		return
	}
	m.none("take it out: assay does faults to the pods of one cluster", "remoteCluster")
	if m.has("scheduler") { // of Chaos Mesh 1.x
		old := m.sub("scheduler")
		d.period(old, "cron")
		old.done()
	}
	length := d.duration(m)
	read(d, m)
	m.done()
	for _, f := range d.drafts {
		if f.length > 0 || !lasts(f.action) || f.action == "kill" || f.action == "stop" && d.pods() {
			continue // Chaos Mesh ignores the duration of actions that end at once
		}
		switch {
		case length == 0 && d.every > 0:
			m.refuse("duration", "write how long it lasts, such as 10s", "it is missing, and the next one would find it going on")
		case length == 0:
			f.length = fault.Ever
		default:
			f.length = length
		}
		if d.every > 0 && f.length >= d.every {
			m.refuse("duration", "write less than "+d.every.String(), "it lasts until the next one is due")
		}
	}
}

func (d *document) duration(m *mapping) time.Duration {
	text := m.text("duration")
	if text == "" {
		return 0
	}
	length, err := time.ParseDuration(text)
	if err != nil || length <= 0 {
		m.refuse("duration", "write such as 30s or 5m", "%q is no duration", text)
	}
	return length
}

func (d *document) schedule(m *mapping) {
	d.period(m, "schedule")
	m.text("historyLimit") // of finished objects that are kept
	m.text("startingDeadlineSeconds")
	switch policy := m.text("concurrencyPolicy"); policy {
	case "", "Forbid", "Allow": // no translated fault lasts until its next time
	default:
		m.refuse("concurrencyPolicy", "write Forbid or Allow", "there is no policy %q", policy)
	}
	kind := m.needed("type", wantKind)
	read, known := specs()[kind]
	key := strings.ToLower(kind[:min(1, len(kind))]) + kind[min(1, len(kind)):]
	if kind == "IOChaos" {
		key = "ioChaos"
	}
	switch {
	case !known:
		m.refuse("type", wantKind, "no fault of assay stands for type %q", kind)
	case !m.has(key):
		m.refuse(key, "write what is to be done, as in the spec of a "+kind, "it is missing")
	default:
		d.kind += " of " + kind
		d.spec(m.sub(key), read)
	}
	m.done()
}

func (d *document) period(m *mapping, key string) {
	text := m.needed(key, "write such as '@every 2m'")
	every, ofDay, ok := period(text)
	if !ok {
		m.refuse(key, "write '@every T', or a cron expression whose times are equally far apart, such as '*/5 * * * *'", "%q cannot be said as every T", text)
	}
	d.every = every
	if ofDay {
		d.note("times count from the start of the measured part, not by the clock of " + text)
	}
}

func (d *document) faults(spec *mapping) (all []Translation) {
	if d.r.err != nil {
		return nil
	}
	base := d.r.path[strings.LastIndexByte(d.r.path, '/')+1:]
	for _, f := range d.drafts {
		text := f.action + " " + f.target
		switch {
		case d.every > 0:
			text += " every " + d.every.String()
		case d.where.At != "":
			text += " at " + d.where.At
		}
		switch {
		case f.length == fault.Ever:
			text += " for ever"
		case f.length > 0:
			text += " for " + f.length.String()
		}
		read, err := fault.Parse(text)
		if err != nil {
			wrong, _ := errors.AsType[*fault.ParseError](err)
			d.r.err = &Error{Path: d.r.path, Line: spec.line, Field: spec.path, Problem: fmt.Sprintf("it would be the fault %q: %s", text, wrong.Problem), Want: "write " + wrong.Want}
			return nil
		}
		read.Source = strings.ReplaceAll(strings.TrimSpace(fmt.Sprintf("%s:%d %s %s", base, d.line, d.kind, d.name)), "|", "/")
		all = append(all, Translation{Fault: read, Notes: d.notes})
	}
	return all
}
