package mongodb

import "go.mongodb.org/mongo-driver/v2/mongo/readconcern"

// preferSnapshot has transactions read with read concern snapshot, the strongest that
// there is, unless the address names another.
func (s *settings) preferSnapshot() {
	if !s.namedReadConcern {
		s.readConcern = readconcern.Snapshot()
	}
}

// promise is the consistency model that MongoDB promises of transactions with these
// concerns, by what its manual says of them ("Transactions", "Transactions and Read Concern",
// "Transactions and Write Concern"):
//
//   - Read concern snapshot "returns data from a snapshot of majority committed
//     data if the transaction commits with write concern majority", and of two
//     transactions that write the same document one is aborted ("Production
//     Considerations", "In-progress Transactions and Write Conflicts"). That is
//     snapshot isolation, and MongoDB calls it so.
//   - Read concern majority returns, on the same condition, "data that has been
//     acknowledged by a majority of the replica set members and can't be rolled
//     back"; for a view that is one "use snapshot". That is read committed. (On a
//     replica set one "might observe stronger read isolation", says the page on
//     read concern local. What might be is no promise.)
//   - Read concern local returns data that "can be rolled back", and a
//     transaction that commits with less than majority "can be rolled back if
//     there is a failover", with "no guarantees" for what others read under
//     whatever read concern. So what was read may never have been, and what is
//     left is that nothing shows "until a transaction commits" and that writes
//     do not overtake one another: read uncommitted.
//
// The Jepsen report on MongoDB 4.2.6 found the weaker combinations to allow
// lost writes and dirty reads, and anomalies at the strongest one too, read
// skew, cyclic information flow and duplicate writes, which MongoDB took for a
// bug (fixed in 4.2.8): the promise is as above, and it is worth holding.
func (s *settings) promise() string {
	switch {
	case s.majority() && s.readConcern.Level == snapshotLevel:
		return "snapshot-isolation"
	case s.majority() && s.readConcern.Level == "majority":
		return "read-committed"
	default:
		return "read-uncommitted"
	}
}
