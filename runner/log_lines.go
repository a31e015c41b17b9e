package runner

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"assay/report"
)

const (
	mostLogLines     = 8
	leastLogLines    = 3
	longestLogLine   = 200
	mostKindsOfLines = 10_000
	// nearMoment is the largest distance of a shown line from a moment.
	nearMoment = 2 * time.Second
)

type span struct{ from, to time.Time }

func (s span) away(at time.Time) time.Duration { return max(0, s.from.Sub(at), at.Sub(s.to)) }

// linesAround returns, from each log of a folder, the lines nearest to the moments, in the order
// of the log. A missing folder has no logs.
func linesAround(folder string, moments []span) (all []report.Setting, err error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.log"))
	if err != nil {
		return nil, err
	}
	most := max(leastLogLines, mostLogLines/max(1, len(paths)))
	for _, path := range paths {
		lines, err := nearest(path, moments, most)
		if err != nil {
			return nil, err
		}
		if len(lines) > 0 {
			all = append(all, report.Setting{Name: filepath.Base(path), Value: strings.Join(lines, "\n")})
		}
	}
	return all, nil
}

// logLine stands for all near lines that differ from it in digits alone; like counts them.
type logLine struct {
	place int
	away  time.Duration
	text  string
	like  int
}

// nearest returns at most this many lines of a log, each kind of line once. A line without a
// time has the time of the line before.
func nearest(path string, moments []span, most int) (texts []string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var (
		kinds  = map[string]logLine{}
		digits = regexp.MustCompile(`[0-9]+`)
		stamps = newStamps()
		away   = nearMoment
	)
	in := bufio.NewReader(file)
	for place := 0; err == nil; place++ {
		var line string
		line, err = in.ReadString('\n')
		if at, is := stamps.timeOf(line); is {
			away = nearMoment
			for _, m := range moments {
				away = min(away, m.away(at))
			}
		}
		text := strings.TrimRight(line, "\r\n")
		text = text[:min(len(text), longestLogLine)]
		kind := digits.ReplaceAllString(text, "")
		known, seen := kinds[kind]
		switch {
		case away >= nearMoment || text == "" || !seen && len(kinds) == mostKindsOfLines:
		case !seen || away < known.away:
			kinds[kind] = logLine{place, away, text, known.like + 1}
		default:
			known.like++
			kinds[kind] = known
		}
	}
	if !errors.Is(err, io.EOF) {
		return nil, err
	}
	kept := slices.SortedFunc(maps.Values(kinds), func(a, b logLine) int { return cmp.Or(cmp.Compare(a.away, b.away), a.place-b.place) })
	kept = kept[:min(len(kept), most)]
	slices.SortFunc(kept, func(a, b logLine) int { return a.place - b.place })
	for _, line := range kept {
		text := strings.ToValidUTF8(line.text, "\uFFFD")
		if line.like > 1 {
			text += fmt.Sprintf(" (%d such lines)", line.like)
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// stamps finds the time of a line. A time without a zone is in this machine's zone, where the
// servers were started.
type stamps []stamp

type stamp struct {
	pattern *regexp.Regexp
	form    string
}

func newStamps() stamps {
	return stamps{
		{regexp.MustCompile(`(\d{4}-\d\d-\d\d)[T ]+(\d{1,2}:\d\d:\d\d)(?:[.,](\d+))? ?(Z|UTC|[+-]\d\d:?\d\d)?`), "2006-01-02 15:04:05"},
		{regexp.MustCompile(`(\d\d? [A-Z][a-z]{2} \d{4}) (\d\d:\d\d:\d\d)(?:\.(\d+))?()`), "2 Jan 2006 15:04:05"},
	}
}

// stampWithin is how many bytes of a line are searched for its time.
const stampWithin = 100

func (all stamps) timeOf(line string) (time.Time, bool) {
	for _, s := range all {
		m := s.pattern.FindStringSubmatch(line[:min(len(line), stampWithin)])
		if m == nil {
			continue
		}
		zone := time.Local
		switch {
		case m[4] == "Z" || m[4] == "UTC":
			zone = time.UTC
		case m[4] != "":
			if offset, err := time.Parse("-0700", strings.ReplaceAll(m[4], ":", "")); err == nil {
				zone = offset.Location()
			}
		}
		at, err := time.ParseInLocation(s.form, m[1]+" "+m[2], zone)
		if err != nil {
			continue
		}
		if fraction, err := time.ParseDuration("0." + cmp.Or(m[3], "0") + "s"); err == nil {
			at = at.Add(fraction)
		}
		return at, true
	}
	return time.Time{}, false
}
