package ycsb

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"assay/store"
	"assay/workload"
)

// The kinds of operations. Values begin with the record's number.
const (
	// KindInsert inserts the next record.
	KindInsert uint8 = iota + 1
	// KindRead reads a record. An answer adds the version.
	KindRead
	// KindUpdate writes a record's fields. If the record did not exist, absent follows.
	KindUpdate
	// KindScan reads records in the order of keys. Values are the first number, the limit and,
	// if answered, each record's number and version; for a foreign key -1 and the key.
	KindScan
	// KindReadModifyWrite reads a record and updates it. An answered read adds the version and,
	// if there was a record, access.began and access.since.
	KindReadModifyWrite
)

func operations() map[uint8]string {
	return map[uint8]string{KindInsert: "insert", KindRead: "read", KindUpdate: "update", KindScan: "scan", KindReadModifyWrite: "rmw"}
}

// kinds are in the order of reports.
func kinds() []uint8 { return []uint8{KindRead, KindUpdate, KindInsert, KindScan, KindReadModifyWrite} }

// mix has the shares of the kinds; their sum is 1.
type mix map[uint8]float64

// coreMixes are YCSB's core workloads (B. Cooper et al., "Benchmarking Cloud Serving Systems
// with YCSB", SoCC 2010, table 2, and the files workloads/workloada to workloadf).
func coreMixes() []struct {
	name, distribution string
	shares             mix
} {
	return []struct {
		name, distribution string
		shares             mix
	}{
		{"a", Zipfian, mix{KindRead: 0.5, KindUpdate: 0.5}},
		{"b", Zipfian, mix{KindRead: 0.95, KindUpdate: 0.05}},
		{"c", Zipfian, mix{KindRead: 1}},
		{"d", Latest, mix{KindRead: 0.95, KindInsert: 0.05}},
		{"e", Zipfian, mix{KindScan: 0.95, KindInsert: 0.05}},
		{"f", Zipfian, mix{KindRead: 0.5, KindReadModifyWrite: 0.5}},
	}
}

const wantMix = "a, b, c, d, e, f, or shares that add up to 1, such as read=0.7,update=0.2,insert=0.1 (read, update, insert, scan, rmw)"

// mixOf parses --mix. The error is a *store.OptionError.
func mixOf(text string) (m mix, distribution string, err error) {
	for _, core := range coreMixes() {
		if strings.EqualFold(text, core.name) {
			return core.shares, core.distribution, nil
		}
	}
	refuse := &store.OptionError{Option: "--mix", Value: text, Want: wantMix}
	m = mix{}
	sum := 0.0
	for _, part := range strings.Split(text, ",") {
		name, value, found := strings.Cut(part, "=")
		share, err := strconv.ParseFloat(value, 64)
		kind := kindOf(name)
		switch {
		case !found:
			return nil, "", refuse
		case kind == 0:
			return nil, "", &store.OptionError{Option: "--mix", Value: name, Want: "read, update, insert, scan, rmw"}
		case err != nil || !(share >= 0 && share <= 1):
			refuse.Reason = fmt.Sprintf("the share of %s is to be from 0 to 1", name)
			return nil, "", refuse
		case m[kind] > 0:
			refuse.Reason = name + " is named twice"
			return nil, "", refuse
		}
		m[kind] = share
		sum += share
	}
	if math.Abs(sum-1) > 1e-9 {
		refuse.Reason = "the shares add up to " + strconv.FormatFloat(sum, 'g', 6, 64) + " and not to 1"
		return nil, "", refuse
	}
	return m, Zipfian, nil
}

// kindOf is 0 for an unknown name.
func kindOf(name string) uint8 {
	for kind, is := range operations() {
		if is == name {
			return kind
		}
	}
	return 0
}

func (m mix) String() string {
	var parts []string
	for _, kind := range kinds() {
		if m[kind] > 0 {
			parts = append(parts, fmt.Sprintf("%s %g %%", operations()[kind], math.Round(m[kind]*1e4)/100))
		}
	}
	return strings.Join(parts, ", ")
}

func (m mix) choose(r *workload.Random) uint8 {
	u := r.Float()
	chosen := KindRead
	for _, kind := range kinds() {
		if m[kind] == 0 {
			continue
		}
		if chosen = kind; u < m[kind] {
			break
		}
		u -= m[kind]
	}
	return chosen
}

func (m mix) has(some ...uint8) bool {
	return slices.ContainsFunc(some, func(kind uint8) bool { return m[kind] > 0 })
}
