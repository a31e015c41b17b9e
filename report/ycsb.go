package report

// YCSB is the result of YCSB's mixes.
type YCSB struct {
	// Records is how many are there at the end, Lost how many miss an acknowledged write.
	Records int64 `json:"records"`
	Lost    int64 `json:"lost"`
	// NotRead is as of Availability. Records and Lost are then not known.
	NotRead string `json:"not_read,omitempty"`
	// Compared counts records that operations returned or missed, Wrong those that nobody wrote.
	Compared int64 `json:"compared"`
	Wrong    int64 `json:"wrong"`
	// Scans counts answered scans, Incomplete those that missed an earlier record.
	Scans      int64 `json:"scans"`
	Incomplete int64 `json:"scans_incomplete"`
	// Disordered counts records whose history is not linearizable.
	Disordered int64 `json:"records_not_linearizable"`
	// Monotonic counts reads older than the client's earlier reads, OwnWrites those older than
	// its writes. Causes counts those older than what another client knew before writing what
	// this one had seen. They are 0 if linearizability is promised.
	Monotonic int64 `json:"reads_going_back"`
	OwnWrites int64 `json:"own_writes_unseen"`
	Causes    int64 `json:"causes_unseen,omitempty"`
}
