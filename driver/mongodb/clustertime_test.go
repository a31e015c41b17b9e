package mongodb

import (
	"encoding/binary"
	"reflect"
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"assay/internal/expect"
)

// TestClusterTime has the latest time that replies tell be in commands, and in no reply.
func TestClusterTime(t *testing.T) {
	t.Parallel()
	var time clusterTime
	asked := bson.D{{Key: "insert", Value: "account"}, {Key: "$db", Value: "bank"}}
	command := mustMessage(t, asked)
	shouldBe(t, string(time.appendCommand(nil, command)), string(command), "a command before the first reply")

	told := func(seconds, n uint32) bson.E {
		return bson.E{Key: "$clusterTime", Value: bson.D{{Key: "clusterTime", Value: bson.Timestamp{T: seconds, I: n}},
			{Key: "signature", Value: bson.D{{Key: "keyId", Value: int64(n)}}}}}
	}
	var latest bson.E
	for _, at := range []struct {
		bson.E
		latest bool
	}{{told(7, 1), true}, {told(7, 3), true}, {told(6, 9), false}, {told(8, 0), true}} {
		answer := bson.D{{Key: "ok", Value: 1.0}, at.E, {Key: "operationTime", Value: bson.Timestamp{T: 1}}}
		if at.latest {
			latest = at.E
		}
		read := time.taken(mustMessage(t, answer))
		shouldBe(t, int(binary.LittleEndian.Uint32(read)), len(read), "bytes of a reply")
		shouldBe(t, mustBody(t, read), bson.D{answer[0], answer[2]}, "what the library reads")
	}

	documents := "a section that follows the body"
	sent := time.appendCommand(nil, append(slices.Clone(command), documents...))
	shouldBe(t, int(binary.LittleEndian.Uint32(sent)), len(sent), "bytes of a command")
	shouldBe(t, mustBody(t, sent), append(asked, latest), "what the server reads")
	shouldBe(t, string(sent[len(sent)-len(documents):]), documents, "what follows")

	shouldBe(t, string(time.appendCommand(nil, sent)), string(sent), "a command that has a time")

	for name, change := range map[string]func([]byte){
		"a checksum":        func(m []byte) { m[16] = 1 },
		"another operation": func(m []byte) { binary.LittleEndian.PutUint32(m[12:], 2012) },
		"another section":   func(m []byte) { m[20] = 1 },
		"a body too long":   func(m []byte) { m[21] = 255 },
		"an element cut":    func(m []byte) { m[21+4] = 0x02 },
	} {
		message := mustMessage(t, bson.D{{Key: "ok", Value: 1.0}, told(9, 0)})
		change(message)
		shouldBe(t, string(time.taken(slices.Clone(message))), string(message), name)
	}
}

func mustMessage(t *testing.T, body bson.D) []byte {
	t.Helper()
	message, err := reply(make([]byte, wireHeader), body)
	expect.NoError(t, err)
	return message
}

func mustBody(t *testing.T, message []byte) bson.D {
	t.Helper()
	document, err := documentAt(message, body(message))
	expect.NoError(t, err)
	return document
}

func shouldBe[T any](t *testing.T, got, want T, what string) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}
