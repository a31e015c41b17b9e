package isolation

type Kind uint8

const (
	// Append adds Value to the end of list Key, which is made if it does not
	// exist. It is one statement (an atomic append).
	Append Kind = iota + 1
	// AppendByRewrite does the same as applications often do: it reads the
	// list and writes the whole of it, longer by Value, in two statements.
	AppendByRewrite
	// ReadList reads list Key into List; a list that does not exist is empty.
	ReadList
	// Write sets register Key to Value, and makes it if it does not exist.
	Write
	// ReadValue reads register Key into Value and Found.
	ReadValue
	// Insert adds a row with the unique id Value to group Key.
	Insert
	// Count counts the rows of group Key, by a predicate over all rows, into
	// Value.
	Count
	// Withdraw keeps a rule over two rows, as an application does: it reads
	// both sides of pair Key (rows 2*Key and 2*Key+1, each 0 or 1, 1 if it
	// does not exist), and if both are 1 sets side Value (0 or 1) to 0;
	// otherwise it sets side Value to 1. Result gets side 0 in bit 0 and side
	// 1 in bit 1, as read. Serializable transactions never leave both at 0.
	Withdraw
)

type Op struct {
	Kind  Kind
	Key   int64
	Value int64
	// List is what ReadList found. Its capacity is used again.
	List []int64
	// Found is false if ReadValue found no register.
	Found bool
	// Result is what Withdraw read.
	Result int64
}

// Withdrawn is the rule of Withdraw: what side becomes, given both as read.
func Withdrawn(own, other int64) int64 {
	if own == 1 && other == 1 {
		return 0
	}
	return 1
}
