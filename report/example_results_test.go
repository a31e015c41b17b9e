package report

import (
	"math"
	"time"

	"assay/check"
	"assay/history"
)

// The results that the tests report on. Each is built anew, so that a test may
// change it.

func number(n int) *int        { return &n }
func share(n float64) *float64 { return &n }
func bytesOf(n int64) *int64   { return &n }
func gib(n float64) *int64     { return bytesOf(int64(n * (1 << 30))) }
func at(second int) time.Time  { return time.Date(2026, 3, 1, 12, 0, second, 0, time.UTC) }

// validRun is PostgreSQL with two nodes, 60 measured seconds, nothing wrong.
func validRun() *Result {
	r := &Result{
		Format: 1, Version: "0.3.0", Workload: "bank", Run: "01jnx5c0h7",
		Started: at(0), Ended: at(76), Seed: 42, Verdict: check.Valid,
		Checks: []check.Result{
			{Name: "total", Verdict: check.Valid, Detail: "10,000 balances add up to 1,000,000,000, as loaded; none is negative."},
			{Name: "accounts", Verdict: check.Valid, Detail: "10,000 balances are opening plus credits minus debits of the journal."},
			{Name: "transfers", Verdict: check.Valid, Detail: "158,410 operations and 155,242 rows of the journal account for one another; no row is foreign, altered or doubled."},
			{Name: "order", Verdict: check.Valid, Detail: "Versions of all accounts are without gap or repetition, and their order agrees with real time."},
		},
		Measurement: Measurement{Verdict: "valid"},
		Throughput: Throughput{PerSecond: 2263.4, Seconds: 60, Min: 1904, Median: 2271, Max: 2412,
			Deviation: 86.2, IntervalSeconds: 1},
		Latency:     latencyOf(135804, 7.03, 0.8),
		ServiceTime: latencyOf(135804, 6.98, 0.8),
		Uncommitted: latencyOf(2771, 3.21, 0.7),
		Outcomes:    history.Counts{Committed: 155242, Rejected: 3150, Failed: 18},
		Measured:    history.Counts{Committed: 135804, Rejected: 2755, Failed: 16},
		Errors: []ErrorCount{
			{Class: "no funds", Outcome: "rejected", Attempts: 3150},
			{Class: "serialization failure", Outcome: "failed", Attempts: 18},
		},
		Retries: Retries{Policy: "none", MaxAttempts: 10, Attempts: 158410},
		Database: Database{
			Product: "PostgreSQL", Version: "17.5",
			Address: "postgres://assay:xxxxx@127.0.0.1:25432/assay?sslmode=disable",
			Settings: []Setting{{"isolation", "serializable"}, {"fsync", "on"},
				{"synchronous_commit", "on"}, {"shared_buffers", "128MB"}},
			Nodes: number(2), Replicas: number(2), CPUsPerNode: share(3),
			MemoryPerNode: gib(16), DiskPerNode: bytesOf(100e9),
		},
		Data: Data{Bytes: 31_457_280, Tables: 20_971_520, Indexes: 10_485_760, Loaded: sized(1_457_280),
			Rows: map[string]int64{"accounts": 10000, "transfers": 155242}},
		Load: Load{Clients: 16, Loop: "closed", Arrivals: "closed", WarmupSeconds: 10,
			DurationSeconds: 60, TimeoutSeconds: 30},
		Options:    []Setting{{"accounts", "10000"}, {"keys", "uniform"}, {"payroll", "0.2"}},
		Loading:    Loading{Rows: 10000, Seconds: 0.81, PerSecond: 12345.7},
		Thresholds: []Threshold{{Text: "p99<100ms", Measured: 14.9, Unit: "ms", Kept: true}},
		Client: Client{CPUShare: 0.23, CPUs: 2, PeakMemory: 47_185_920, SchedulerP99: 0.12,
			OwnLag: latencyOf(135804, 0.004, 1), ConnectMillis: 41.3},
	}
	r.Series = seriesOf(72, 10, 70, 2271)
	return r
}

// latencyOf is a lognormal distribution with the given mean and shape.
func latencyOf(n int64, mean, shape float64) Latency {
	scale := math.Log(mean) - shape*shape/2
	quantile := func(q float64) float64 {
		ms := math.Exp(scale + shape*math.Sqrt2*math.Erfinv(2*q-1))
		return math.Round(ms*1e4) / 1e4
	}
	l := Latency{Count: n, Mean: mean, P50: quantile(0.5), P95: quantile(0.95),
		P99: quantile(0.99), P999: quantile(0.999), Max: quantile(1 - 1/float64(n))}
	for _, q := range []float64{0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95, 0.975,
		0.99, 0.995, 0.999, 0.9995, 0.9999} {
		if q < 1-1/float64(n) {
			l.Curve = append(l.Curve, [2]float64{q, quantile(q)})
		}
	}
	l.Curve = append(l.Curve, [2]float64{1, l.Max})
	return l
}

// seriesOf is a run of so many seconds around a rate.
func seriesOf(length int, start, end, rate float64) Series {
	s := Series{IntervalSeconds: 1, MeasureStart: start, MeasureEnd: end}
	for i := range length {
		t := float64(i)
		level := rate * (1 - math.Exp(-(t+1)/3)) * (1 + 0.04*math.Sin(t*1.7) + 0.02*math.Cos(t*5.1))
		if t >= end {
			level = 0
		}
		s.Start = append(s.Start, t)
		s.Committed = append(s.Committed, int64(level))
		s.Rejected = append(s.Rejected, int64(level/50))
		s.Failed = append(s.Failed, int64(i%4/3))
		s.Unknown = append(s.Unknown, 0)
		ms := 5.2 * (1 + 0.1*math.Sin(t))
		if level == 0 {
			ms = -1
		}
		for list, factor := range map[*[]float64]float64{&s.P50: 1, &s.P95: 2.6, &s.P99: 3.1 + 0.3*math.Cos(t*2), &s.Max: 9 + 4*math.Sin(t*3)} {
			value := math.Round(ms*factor*1000) / 1000
			if ms < 0 {
				value = -1
			}
			*list = append(*list, value)
		}
	}
	return s
}

// violatedRun is a replica set whose primary was killed and that lost
// acknowledged transfers.
func violatedRun() *Result {
	r := validRun()
	r.Verdict = check.Violated
	r.Database = Database{Product: "MongoDB", Version: "8.0.4",
		Address:  "mongodb://127.0.0.1:27017,127.0.0.1:27018,127.0.0.1:27019/?replicaSet=rs0",
		Settings: []Setting{{"write concern", "1"}, {"read concern", "local"}, {"storage engine", "wiredTiger"}},
		Nodes:    number(3), Shards: number(1), Replicas: number(3), Arbiters: number(0)}
	r.Checks[0] = check.Result{Name: "total", Verdict: check.Violated, Found: 1,
		Detail:   "10,000 balances add up to 999,999,700; 1,000,000,000 were loaded.",
		Evidence: []check.Evidence{{Kind: "total", Text: "300 are missing", Fields: map[string]int64{"loaded": 1000000000, "read": 999999700}}}}
	lost := check.Result{Name: "transfers",
		Detail: "158,410 operations were compared with 155,229 rows of the journal: 13 acknowledged transfers are not there."}
	for i := range int64(13) {
		lost.Add(check.Evidence{Kind: "lost",
			Text:   "transfer 3." + check.Count(4100+i) + " of 250 from account 17 to account 9,120 was acknowledged at 22.104 s and is not in the journal",
			Fields: map[string]int64{"client": 3, "seq": 4100 + i, "amount": 250, "source": 17, "destination": 9120}})
	}
	r.Checks[2] = lost
	r.Checks = append(r.Checks, check.Result{Name: "replicas", Verdict: check.Unknown, Detail: "A secondary did not catch up within 60 s."})
	r.Outcomes.Unknown, r.Measured.Unknown = 31, 31
	r.Errors = append(r.Errors, ErrorCount{Class: "connection lost", Outcome: "unknown", Attempts: 29}, ErrorCount{Class: "timeout", Outcome: "unknown", Attempts: 2})
	r.Retries = Retries{Policy: "idempotent", MaxAttempts: 10, Attempts: 158920, Retried: 402, Settled: 371}
	r.Faults = []Fault{
		{Action: "kill", Target: "primary", Nodes: []string{"n1"}, InjectedAt: at(22), HealedAt: at(30), InjectedSecond: 22, HealedSecond: 30,
			RecoveredAfter: 10412, Proven: true, Proof: "process 4711 is gone", Healing: "it is a secondary", NewPrimary: "n3",
			NewPrimaryAfter: 10380, WriteOutage: 10413, ReadOutage: 10420, LongestCall: 10002,
			Errors: []ErrorCount{{Class: "connection lost", Outcome: "unknown", Attempts: 29}, {Class: "not primary", Outcome: "failed", Attempts: 16}}},
		{Action: "pause", Target: "any", Nodes: []string{"n2"}, InjectedAt: at(50), HealedAt: at(55), InjectedSecond: 50, HealedSecond: 55,
			RecoveredAfter: 312, Proven: true, Proof: "all 41 threads stopped", Healing: "it goes on", WriteOutage: 313, ReadOutage: -1},
	}
	r.Cluster = &Cluster{Spec: "mongodb:3", Network: "own", StartSeconds: 2.4, Settled: "all nodes held the same data 1.2 s after it",
		Nodes: []ClusterNode{{Name: "n1", Address: "198.18.7.11:27017", Memory: 400 << 20, CPU: 1}, {Name: "n2", Address: "198.18.7.12:27017", Pod: &Pod{Machine: "worker-1", CPURequest: 1, MemoryRequest: 1 << 30,
			Volumes: []PodVolume{{Claim: "data-db-0", Class: "standard", Bytes: 10 << 30}}}}},
		Events: []ClusterEvent{{Second: 32.4, Text: "n3 was elected"}}}
	for i := 23; i < 33; i++ {
		r.Series.Committed[i], r.Series.Rejected[i], r.Series.Failed[i], r.Series.Unknown[i] = 0, 0, 40, int64(33-i)/2
		r.Series.P50[i], r.Series.P95[i], r.Series.P99[i], r.Series.Max[i] = -1, -1, -1, -1
	}
	r.Series.Max[33] = 11020
	r.Latency.Max, r.Throughput.Min = 11020, 0
	r.Latency.Curve[len(r.Latency.Curve)-1][1] = 11020
	r.Notes = []string{"The write concern is 1: MongoDB itself does not promise that such a write survives the loss of the primary."}
	return r
}

// cutRun was interrupted before anything was read back.
func cutRun() *Result {
	r := validRun()
	r.Verdict = check.Unknown
	for i := range r.Checks {
		r.Checks[i] = check.Result{Name: r.Checks[i].Name, Detail: "Nothing was read back."}
	}
	r.Measurement = Measurement{Verdict: "invalid", Reasons: []string{
		"the run was cut after 14.2 s by an interrupt",
		"the measured part of 4.2 s is shorter than the 60 s asked for, and too short to tell a steady state from chance"}}
	r.Throughput = Throughput{PerSecond: 2107, Seconds: 4.2, IntervalSeconds: 1}
	r.Series = seriesOf(15, 10, 14.2, 2100)
	r.Thresholds, r.Data = nil, Data{Kept: "schema assay"}
	r.Ended = at(15)
	return r
}

// openLoopRun was offered more than the database could do.
func openLoopRun() *Result {
	r := validRun()
	r.Load = Load{Clients: 64, Loop: "open", Arrivals: "poisson", Rate: 5000, WarmupSeconds: 10,
		DurationSeconds: 60, RampPerSecond: 8, TimeoutSeconds: 2.5, Late: latencyOf(140000, 8400, 0.4), Unserved: 155_312}
	r.Throughput.Offered = 5000
	r.Latency = latencyOf(135804, 8450, 0.4)
	r.Measurement = Measurement{Verdict: "invalid", Reasons: []string{"operations started 8.4 s late on average: the figures are those of a queue that grew until the end"}}
	r.Thresholds = []Threshold{
		{Text: "p99<100ms", Measured: 19712.3, Unit: "ms", Kept: false},
		{Text: "errors<1%", Measured: 0.012, Unit: "%", Kept: true},
		{Text: "rate>4500", Measured: 2263.4, Unit: "/s", Kept: false},
	}
	return r
}

// sqliteRun has none of the facts that are optional.
func sqliteRun() *Result {
	r := validRun()
	r.Database = Database{Product: "SQLite", Version: "3.50.4", Address: "sqlite:bank.db",
		Settings: []Setting{{"journal_mode", "wal"}, {"synchronous", "full"}}}
	r.Data = Data{Bytes: 9_912_320, Rows: map[string]int64{"account": 10000, "transfer": 20411}}
	r.Load = Load{Clients: 4, Loop: "closed", Arrivals: "closed", Ops: 20000}
	r.Client = Client{CPUShare: -1, CPUs: 2}
	r.Uncommitted, r.Errors, r.Thresholds = Latency{}, nil, nil
	r.Outcomes = history.Counts{Committed: 20411}
	r.Measured = history.Counts{Committed: 20000}
	r.Retries = Retries{Policy: "none", Attempts: 20411}
	r.Latency, r.ServiceTime = latencyOf(20000, 0.41, 0.5), latencyOf(20000, 0.4, 0.5)
	r.Throughput.PerSecond = 9655.1
	return r
}

// hugeRun has the widest numbers: 100 million accounts, a day, a large seed.
func hugeRun() *Result {
	r := validRun()
	r.Seed = math.MaxUint64
	r.Ended = r.Started.Add(31*time.Hour + 12*time.Minute)
	r.Database.Nodes, r.Database.Shards, r.Database.Replicas = number(160), number(20), number(3)
	r.Database.MemoryPerNode, r.Database.DiskPerNode = gib(1536), bytesOf(61_440_000_000_000)
	r.Data = Data{Bytes: 1_234_567_890_123, Tables: 934_567_890_123, Indexes: 300_000_000_000,
		Rows: map[string]int64{"accounts": 100_000_000, "transfers": 9_876_543_210}}
	r.Load.Clients, r.Load.DurationSeconds, r.Load.WarmupSeconds = 10_000, 86_400, 3_600
	r.Options[0].Value = "100000000"
	r.Loading = Loading{Rows: 100_000_000, Seconds: 8123.4, PerSecond: 12310.1}
	r.Outcomes = history.Counts{Committed: 9_876_543_210, Rejected: 123_456_789, Failed: 98_765_432, Unknown: 1}
	r.Measured = history.Counts{Committed: 9_456_543_210, Rejected: 113_456_789, Failed: 91_765_432, Unknown: 1}
	r.Errors = []ErrorCount{{Class: "no funds", Outcome: "rejected", Attempts: 123_456_789},
		{Class: "a class that some driver has named at such length that it cannot stand beside its figures", Outcome: "unknown", Attempts: 98_765_433}}
	r.Retries.Attempts = 10_098_765_432
	r.Throughput = Throughput{PerSecond: 109_450.7, Seconds: 86_400, Min: 87_112, Median: 109_871.5, Max: 131_072,
		Deviation: 4_211.9, IntervalSeconds: 60}
	r.Series = seriesOf(31*60, 60, 1500, 109_871)
	r.Series.IntervalSeconds, r.Series.MeasureStart, r.Series.MeasureEnd = 60, 3600, 90_000
	for i := range r.Series.Start {
		r.Series.Start[i] *= 60
		r.Series.Committed[i] *= 60
	}
	r.Latency = latencyOf(9_456_543_210, 912.3, 1.4)
	r.Client.PeakMemory = 3 << 30
	return r
}

// examples lists them all by name.
func examples() map[string]*Result {
	return map[string]*Result{"valid": validRun(), "violated": violatedRun(), "cut": cutRun(),
		"open": openLoopRun(), "sqlite": sqliteRun(), "huge": hugeRun(),
		"bank": bankRun(), "isolation": isolationRun(), "ramp": rampedRun()}
}

func sized(n int64) *int64 { return &n }
