package ycsb

import (
	"cmp"
	"context"

	"assay/check"
	"assay/report"
	"assay/workload"
	"assay/workload/definition"
	"assay/workload/keyvalue"
)

// Name is the workload's name.
const Name = "ycsb"

// By is the support of the workload by a driver's function.
func By(open keyvalue.Opener) definition.Support {
	return definition.By(Name, func(ctx context.Context, target workload.Target) (keyvalue.Store, error) {
		d := Defaults()
		return open(ctx, target, Table(cmp.Or(target.Fields, d.Fields), cmp.Or(target.FieldBytes, d.FieldBytes)))
	})
}

// Definition is the workload.
func Definition() definition.Workload {
	return definition.Workload{
		Name: Name, Key: Name,
		Summary: "YCSB's core workloads A to F; every answer is recognized bit by bit, and the history of each record judged for linearizability",
		Short:   "YCSB's core workloads A to F, with every answer judged",
		Long: `YCSB's core workloads A to F, with every answer judged.

Clients read, update, insert and scan records of ten fields of 100 bytes, or read
and then update them, in the mix that --mix says: a (half reads, half updates), b (5 %
updates), c (reads alone), d (5 % inserts, and the newest are read), e (short scans and 5 %
inserts) or f (half reads, half read-modify-writes). The records are chosen by YCSB's own
distributions. --rate is YCSB's target.

Each version of a record says who wrote it and is otherwise a function of the seed, so
that every record that is returned is compared bit by bit; and the history of each record
is judged for linearizability where the database promises that. What differs from YCSB
is in docs/ycsb.md.`,
		Example: `  assay run ycsb --mix b --records 10000 --clients 16
  assay run ycsb --mix read=0.7,update=0.2,insert=0.1 --distribution uniform --db postgres://user@host/database
  assay run ycsb --mix a --rate 2000 --cluster cassandra:3 --option consistency=one`,
		Checks: []definition.Check{
			{Name: CheckRecords, Asserts: "Every acknowledged insert and update is there in the end, or what was written later; and nothing else is there."},
			{Name: CheckReads, Asserts: "Every record that was returned is whole, and was written by an operation of this run that had begun and did not fail."},
			{Name: CheckScans, Asserts: "Every scan is in the order of keys, with no record twice and no foreign one. Where the database promises it, no record is left out that was there before the scan began."},
			{Name: CheckLinearizable, Asserts: "Where the database promises it, the history of every record is linearizable. Where it does not, reads that are older than what the same client had read or written before are counted."},
		},
		Config:      func() definition.Config { c := Defaults(); return &c },
		State:       FileState,
		Operations:  operations(),
		Degradation: true,
	}
}

func (c *Config) Open(_ context.Context, store workload.Store, seed uint64, _ int) (definition.Work, error) {
	return NewWork(store.(keyvalue.Store), *c, seed)
}

func (c *Config) Judge(_ context.Context, seed uint64, e definition.Evidence) (definition.Judgement, error) {
	results, f, err := Judge(*c, seed, e)
	if err != nil {
		return definition.Judgement{}, err
	}
	out := definition.Judgement{Results: results, YCSB: section(f), Counts: f.Outcomes}
	if unknown := f.Writes.Unknown; unknown > 0 {
		out.Notes = []string{e.UnknownNote(check.Counted(unknown, "write", "writes")+" that ended unknown", unknown, f.UnknownDone)}
	}
	return out, nil
}

// section is the report's.
func section(f Figures) *report.YCSB {
	return &report.YCSB{Records: f.Rows, Compared: f.Answered, Wrong: f.Wrong, Lost: f.Lost, Scans: f.Scans, Incomplete: f.Incomplete,
		Disordered: f.Disordered, Monotonic: f.Monotonic, OwnWrites: f.OwnWrites}
}
