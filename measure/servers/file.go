package servers

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"

	"assay/store"
)

const (
	formatVersion = 1
	// mostSamples bounds the file: at this number, samples are merged in pairs.
	mostSamples = 600
	longestLine = 1 << 20
)

type file struct {
	path    string
	header  Header
	samples []Sample
	// merged is the number of looks in a sample, pending the looks of the incomplete one.
	merged  int
	pending []Sample
	gauges  map[string]bool
	// known means that the header on disk has all nodes.
	known bool
	err   error // the first one
}

func newFile(path string, of Sources) *file {
	f := &file{path: path, merged: 1, gauges: map[string]bool{},
		header: Header{Format: formatVersion, Nodes: []Node{}, NoNodes: of.NoNodes, NoAccount: of.NoAccount}}
	if of.Account != nil {
		f.header.Statistics = of.Account.List()
	}
	for _, s := range f.header.Statistics {
		f.gauges[s.Name] = !s.Counter
	}
	return f
}

func (f *file) enter(n Node) {
	if !slices.ContainsFunc(f.header.Nodes, func(old Node) bool { return old.Name == n.Name }) {
		f.header.Nodes, f.known = append(f.header.Nodes, n), false
	}
}

func (f *file) add(s Sample) {
	f.pending = append(f.pending, s)
	if len(f.pending) < f.merged {
		return
	}
	f.samples = append(f.samples, f.merge(f.pending))
	f.pending = nil
	if len(f.samples) < mostSamples && f.known {
		f.write(os.O_APPEND|os.O_WRONLY, f.samples[len(f.samples)-1:])
		return
	}
	if len(f.samples) >= mostSamples {
		f.merged *= 2
		var half []Sample
		for pair := range slices.Chunk(f.samples, 2) {
			half = append(half, f.merge(pair))
		}
		f.samples = half
	}
	f.known = true
	f.write(os.O_CREATE|os.O_TRUNC|os.O_WRONLY, f.samples)
}

// merge merges samples: the last values of counters, and means of momentary values. It ignores
// missing values; Missed counts them.
func (f *file) merge(all []Sample) Sample {
	if len(all) == 1 {
		return all[0]
	}
	one := Sample{At: all[len(all)-1].At, Nodes: map[string]Usage{}}
	memory, looks := map[string]int64{}, map[string]int64{}
	sums, weights := map[string]float64{}, map[string]float64{}
	for _, s := range all {
		one.Looks, one.Missed = one.Looks+s.Looks, one.Missed+s.Missed
		for name, usage := range s.Nodes {
			if usage.Files == 0 { // it was not looked at every time
				usage.Files, usage.Free = one.Nodes[name].Files, one.Nodes[name].Free
			}
			one.Nodes[name] = usage
			memory[name] += int64(s.Looks) * usage.Memory
			looks[name] += int64(s.Looks)
		}
		if s.Problem != "" {
			one.Problem = s.Problem
		}
		if s.Account == nil {
			continue
		}
		one.Account = &Account{At: s.Account.At, Reading: store.Reading{Server: s.Account.Server, Values: maps.Clone(s.Account.Values)}}
		for name, value := range s.Account.Values {
			weight := float64(s.Looks - s.Missed)
			sums[name] += weight * value
			weights[name] += weight
		}
	}
	for name, usage := range one.Nodes {
		usage.Memory = memory[name] / looks[name]
		one.Nodes[name] = usage
	}
	if one.Account != nil {
		for name := range one.Account.Values {
			if f.gauges[name] && weights[name] > 0 {
				one.Account.Values[name] = sums[name] / weights[name]
			}
		}
	}
	return one
}

// write appends samples, with a header first if necessary. After an error it writes nothing more.
func (f *file) write(flags int, samples []Sample) {
	if f.err != nil {
		return
	}
	out, err := os.OpenFile(f.path, flags, 0o644)
	if err != nil {
		f.err = fmt.Errorf("keep what the servers were doing: %w", err)
		return
	}
	buffered := bufio.NewWriter(out)
	encoder := json.NewEncoder(buffered)
	if flags&os.O_TRUNC != 0 {
		err = encoder.Encode(f.header)
	}
	for i := range samples {
		err = errors.Join(err, encoder.Encode(&samples[i]))
	}
	if err = errors.Join(err, buffered.Flush(), out.Close()); err != nil {
		f.err = fmt.Errorf("keep what the servers were doing: %w", err)
	}
}

func (f *file) close() error {
	if len(f.pending) > 0 {
		f.merged = len(f.pending)
		pending := f.pending
		f.pending = pending[:len(pending)-1]
		f.add(pending[len(pending)-1])
	}
	return f.err
}

// Record is the content of a file.
type Record struct {
	Header
	Samples []Sample
}

// Read reads a file of Watch; nil if there is none. It ignores a last line cut by a kill.
func Read(path string) (*Record, error) {
	in, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what the servers were doing: %w", err)
	}
	defer in.Close()
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, longestLine)
	r := &Record{}
	number := 0
	var bad error
	for lines.Scan() {
		if bad != nil {
			return nil, bad // it is not the last line
		}
		if number++; number == 1 {
			if err := json.Unmarshal(lines.Bytes(), &r.Header); err != nil || r.Format != formatVersion {
				return nil, fmt.Errorf("%s is not what the servers were doing in a form that this version reads", path)
			}
			continue
		}
		var s Sample
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			bad = fmt.Errorf("%s, line %d: %w", path, number, err)
			continue
		}
		if number > 2*mostSamples || len(r.Samples) > 0 && s.At < r.Samples[len(r.Samples)-1].At {
			return nil, fmt.Errorf("%s, line %d: there are too many lines, or they are not in the order of time", path, number)
		}
		r.Samples = append(r.Samples, s)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s, line %d: %w", path, number+1, err)
	}
	if number == 0 {
		return nil, nil
	}
	return r, nil
}
