package ycsb

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"

	"assay/workload"
)

// lengths is a law of field or scan lengths. Zipfian prefers short ones.
type lengths struct {
	law      string
	min, max int
	zipf     workload.Zipf
	*histogram
}

// Further laws of lengths.
const (
	constantLength  = "constant"
	histogramLength = "histogram"
)

func newLengths(law string, least, most int, h *histogram) lengths {
	l := lengths{law: law, min: least, max: most}
	switch law {
	case constantLength:
		l.min = most
	case Zipfian:
		l.zipf = workload.NewZipf(int64(max(most-least+1, 1)), zipfExponent)
	case histogramLength:
		if l.histogram = h; h != nil {
			l.min, l.max = h.bounds()
		}
	}
	return l
}

func (l *lengths) draw(r *workload.Random) int {
	switch {
	case l.min >= l.max:
		return l.max
	case l.law == Zipfian:
		return l.min - 1 + int(l.zipf.Rank(r))
	case l.histogram != nil:
		return l.histogram.draw(r)
	default:
		return l.min + int(r.Below(uint64(l.max-l.min+1)))
	}
}

// histogram has the frequency of lengths: bucket i, from 0, is of i+1 blocks.
type histogram struct {
	Block   int     `yaml:"block"`
	Buckets []int64 `yaml:"buckets"`
}

// mostBuckets bounds the lines of a file.
const mostBuckets = 100_000

// readHistogram reads a file as YCSB's HistogramGenerator: "BlockSize", a tab and a size; then
// lines of a bucket's number, a tab and its frequency, in order.
func readHistogram(path string) (*histogram, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	h := &histogram{}
	lines := bufio.NewScanner(file)
	for n := 1; lines.Scan(); n++ {
		name, value, _ := strings.Cut(strings.TrimSpace(lines.Text()), "\t")
		number, err := strconv.ParseInt(strings.TrimSpace(value), 10, 32)
		switch want := strconv.Itoa(n - 2); {
		case err != nil || number < 0:
			return nil, fmt.Errorf("%s, line %d: there is no whole number behind a tab", path, n)
		case n == 1 && (name != "BlockSize" || number == 0):
			return nil, fmt.Errorf("%s: the first line is to be BlockSize, a tab and a number above 0", path)
		case n == 1:
			h.Block = int(number)
		case name != want || n > mostBuckets:
			return nil, fmt.Errorf("%s, line %d: bucket %s was to come", path, n, want)
		default:
			h.Buckets = append(h.Buckets, number)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if h.area() == 0 {
		return nil, fmt.Errorf("%s: no bucket has anything in it", path)
	}
	return h, nil
}

func (h *histogram) area() (all int64) {
	for _, n := range h.Buckets {
		all += n
	}
	return all
}

func (h *histogram) bounds() (least, most int) {
	for i, n := range h.Buckets {
		if length := (i + 1) * h.Block; n > 0 {
			if least == 0 {
				least = length
			}
			most = length
		}
	}
	return least, most
}

func (h *histogram) draw(r *workload.Random) int {
	at := int64(r.Below(uint64(h.area())))
	for i, n := range h.Buckets {
		if at -= n; at < 0 {
			return (i + 1) * h.Block
		}
	}
	return len(h.Buckets) * h.Block
}
