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
	// formatVersion is the version of the file's form.
	formatVersion = 1
	// mostSamples bounds the file: when so many are in it, each two become one.
	mostSamples = 600
	// longestLine bounds a line that is read.
	longestLine = 1 << 20
)

// file keeps samples in memory and on disk. It is used by one goroutine.
type file struct {
	path    string
	header  Header
	samples []Sample
	// merged is how many looks are to be one sample, pending those that are not one
	// yet.
	merged  int
	pending []Sample
	gauges  map[string]bool
	// known is true once the header on disk has all nodes.
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

// enter enters a node that was not there before.
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

// merge makes samples one: counters as they are at the last look, what is measured at
// a moment as its mean. Of what is missing the rest counts, and Missed tells.
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

// write writes samples, behind the header where the file is begun. After an error
// nothing more is written.
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

// close writes what is pending.
func (f *file) close() error {
	if len(f.pending) > 0 {
		f.merged = len(f.pending)
		pending := f.pending
		f.pending = pending[:len(pending)-1]
		f.add(pending[len(pending)-1])
	}
	return f.err
}

// Record is what a file holds.
type Record struct {
	Header
	Samples []Sample
}

// Read reads a file that Watch has written; nil if there is none. Of a run that was
// killed the last line may be cut, which is left out.
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
