package report

// YCSB is what a run of YCSB's mixes did.
type YCSB struct {
	// Records is how many were there in the end, Lost how many of them are older than an
	// acknowledged write, or not there.
	Records int64 `json:"records"`
	Lost    int64 `json:"lost"`
	// Compared counts the records that operations returned or did not find, Wrong those
	// that nobody had written so.
	Compared int64 `json:"compared"`
	Wrong    int64 `json:"wrong"`
	// Scans counts the answered scans, Incomplete those that left out a record that was
	// there before.
	Scans      int64 `json:"scans"`
	Incomplete int64 `json:"scans_incomplete"`
	// Disordered counts the records whose history is not linearizable.
	Disordered int64 `json:"records_not_linearizable"`
	// Monotonic counts reads older than what the same client had read before, OwnWrites
	// those older than what it had written, Causes those older than what another client had
	// read or written before it wrote what this one had seen; 0 where linearizability is
	// promised.
	Monotonic int64 `json:"reads_going_back"`
	OwnWrites int64 `json:"own_writes_unseen"`
	Causes    int64 `json:"causes_unseen,omitempty"`
}
