package mongodb

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sync"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
)

// clusterTime is the latest $clusterTime that a client's servers have told, as an element. A client
// tells it with each command (driver sessions specification, "Gossiping the cluster time"). The
// library would look for it in each reply and again in its own copies of it before each command, which
// is more than all else that it reads. So it is taken out of replies and put into commands on their way, and the
// library sees none, but where it compresses them. It is safe for concurrent use.
type clusterTime struct {
	mu      sync.Mutex
	at      uint64 // seconds, then the count within the second, as BSON has a timestamp
	element []byte // empty before the first
}

// beforeClusterTime is how the element begins; the timestamp follows the four bytes of its length and
// beforeTimestamp.
const (
	beforeClusterTime = "\x03$clusterTime\x00"
	beforeTimestamp   = "\x11clusterTime\x00"
)

// bodyStart is where a message's body is, behind its header, its flags and the kind of its first section (MongoDB
// manual, "MongoDB Wire Protocol", "OP_MSG").
const bodyStart = 16 + 4 + 1

// bodyOf is where the body of a message ends; 0 of a message that is not to be changed: it is of another
// operation, has a checksum, or does not begin with its body.
func bodyOf(message []byte) (end int) {
	if len(message) < bodyStart+bsoncore.EmptyDocumentLength ||
		binary.LittleEndian.Uint32(message[12:]) != uint32(wiremessage.OpMsg) ||
		binary.LittleEndian.Uint32(message[16:])&uint32(wiremessage.ChecksumPresent) != 0 ||
		wiremessage.SectionType(message[bodyStart-1]) != wiremessage.SingleDocument {
		return 0
	}
	size := int64(binary.LittleEndian.Uint32(message[bodyStart:]))
	if size < bsoncore.EmptyDocumentLength || size > int64(len(message)-bodyStart) {
		return 0
	}
	return bodyStart + int(size)
}

// resized has a message whose body has grown by so many bytes say so.
func resized(message []byte, by int) []byte {
	binary.LittleEndian.PutUint32(message, uint32(len(message)))
	binary.LittleEndian.PutUint32(message[bodyStart:], uint32(int(binary.LittleEndian.Uint32(message[bodyStart:]))+by))
	return message
}

// appendCommand appends a command to an empty buffer, with the time unless the library has put it in.
func (t *clusterTime) appendCommand(b, message []byte) []byte {
	end := bodyOf(message)
	t.mu.Lock()
	defer t.mu.Unlock()
	if end == 0 || len(t.element) == 0 || bytes.Contains(message[bodyStart:end], []byte(beforeClusterTime)) {
		return append(b, message...)
	}
	b = append(slices.Grow(b, len(message)+len(t.element)), message[:end-1]...)
	b = append(b, t.element...)
	return resized(append(b, message[end-1:]...), len(t.element))
}

// taken takes the time out of a reply. The reply is changed where it is.
func (t *clusterTime) taken(message []byte) []byte {
	end := bodyOf(message)
	for at := bodyStart + 4; at < end-1; {
		element, _, whole := bsoncore.ReadElement(message[at : end-1])
		if !whole {
			break // the library says what is wrong
		}
		if t.heard(element) {
			by := len(element)
			return resized(append(message[:at], message[at+by:]...), -by)
		}
		at += len(element)
	}
	return message
}

// heard notes the time, if the element of a reply is one.
func (t *clusterTime) heard(element []byte) bool {
	value, is := bytes.CutPrefix(element, []byte(beforeClusterTime))
	if !is || len(value) < 4+len(beforeTimestamp)+8 || string(value[4:4+len(beforeTimestamp)]) != beforeTimestamp {
		return false
	}
	to := binary.LittleEndian.Uint64(value[4+len(beforeTimestamp):])
	t.mu.Lock()
	defer t.mu.Unlock()
	if to > t.at {
		t.at, t.element = to, append(t.element[:0], element...)
	}
	return true
}

// appendTo appends the time to a command that is being written.
func (t *clusterTime) appendTo(b []byte) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append(b, t.element...)
}
