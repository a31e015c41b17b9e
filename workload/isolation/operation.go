package isolation

type Kind uint8

const (
	// Append appends Value to list Key in one statement, making the list if needed.
	Append Kind = iota + 1
	// AppendByRewrite reads the list and writes it back with Value, in two statements.
	AppendByRewrite
	// ReadList reads list Key into List; a missing list is empty.
	ReadList
	// Write sets register Key to Value, making it if needed.
	Write
	// ReadValue reads register Key into Value and Found.
	ReadValue
	// Insert adds a row with the unique id Value to group Key.
	Insert
	// Count counts the rows of group Key into Value, by a predicate.
	Count
	// Withdraw keeps a rule over two rows as an application does: it reads both sides of pair
	// Key (rows 2*Key and 2*Key+1, each 0 or 1; 1 if missing). If both are 1, it sets side Value
	// (0 or 1) to 0, otherwise to 1. Result gets side 0 in bit 0 and side 1 in bit 1, as read.
	// Serializable transactions never leave both at 0.
	Withdraw
)

type Op struct {
	Kind  Kind
	Key   int64
	Value int64
	// List is ReadList's result. Its capacity is reused.
	List []int64
	// Found is false if ReadValue found no register.
	Found  bool
	Result int64
}

// Withdrawn is Withdraw's rule: the new value of a side, given both as read.
func Withdrawn(own, other int64) int64 {
	if own == 1 && other == 1 {
		return 0
	}
	return 1
}
