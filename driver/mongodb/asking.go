package mongodb

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	topologies "go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
)

// codeReauthenticate is ReauthenticationRequired: the connection's token is of the past.
const codeReauthenticate = 391

// asked sends a message of ours and returns the answer, whose time it notes. Errors are those of the library's
// driver.Operation.
func (c *command) asked(x *sending, message []byte, compresses bool) (bson.Raw, error) {
	reply, err := c.exchanged(x, message, compresses)
	if err != nil {
		c.failed = true
		return nil, driver.Error{Message: err.Error(), Labels: []string{driver.NetworkError}, Wrapped: err}
	}
	answer, err := c.time.answer(reply)
	if refused, is := err.(driver.Error); is && refused.Code == codeReauthenticate {
		c.failed = true // another one has a new token
	}
	return answer, err
}

func (c *command) exchanged(x *sending, message []byte, compresses bool) (reply []byte, err error) {
	if compresses {
		if message, err = c.CompressWireMessage(message, nil); err != nil {
			return nil, err
		}
	}
	if err = c.send(x, message); err != nil {
		return nil, err
	}
	if reply, err = c.receive(x); err != nil || !compresses {
		return reply, err
	}
	return uncompressed(reply)
}

// uncompressed is a message as it was before it was compressed (MongoDB manual, "MongoDB Wire Protocol",
// "OP_COMPRESSED").
func uncompressed(message []byte) ([]byte, error) {
	_, id, to, code, rest, whole := wiremessage.ReadHeader(message)
	if whole && code != wiremessage.OpCompressed {
		return message, nil
	}
	if len(rest) < 4+4+1 {
		return nil, errors.New("a reply is too short for a compressed one")
	}
	code, rest, _ = wiremessage.ReadCompressedOriginalOpCode(rest)
	size, rest, _ := wiremessage.ReadCompressedUncompressedSize(rest)
	by, rest, _ := wiremessage.ReadCompressedCompressorID(rest)
	if size < 0 || size > maxReply {
		return nil, fmt.Errorf("a reply of %d bytes came", size)
	}
	payload, err := driver.DecompressPayload(rest, driver.CompressionOpts{Compressor: by, UncompressedSize: size})
	if err != nil {
		return nil, err
	}
	_, b := wiremessage.AppendHeaderStart(nil, id, to, code)
	b = append(b, payload...)
	return bsoncore.UpdateLength(b, 0, int32(len(b))), nil
}

// answer is the document of a reply, or the error that it tells of. It notes the time.
func (t *clusterTime) answer(message []byte) (bson.Raw, error) {
	end := bodyOf(message)
	if end == 0 {
		return nil, errors.New("a reply is no message with a document")
	}
	done := false
	for at := bodyStart + 4; at < end-1; {
		element, _, whole := bsoncore.ReadElement(message[at : end-1])
		if !whole {
			done = false // the library says what is wrong
			break
		}
		switch string(element.KeyBytes()) {
		case "ok":
			n, _ := element.Value().AsFloat64OK()
			done = n == 1
		case "writeErrors", "writeConcernError":
			at, done = end, false
			continue
		default:
			t.heard(element)
		}
		at += len(element)
	}
	document := message[bodyStart:end]
	if done {
		return document, nil
	}
	if err := driver.ExtractErrorFromServerResponse(document); err != nil {
		return nil, err
	}
	return document, nil
}

// writers selects the primary, or the routers that are so much farther than the nearest at most, as the library does
// (server selection specification, "localThresholdMS").
type writers struct{ farther time.Duration }

// SelectServer implements description.ServerSelector.
func (w writers) SelectServer(of topologies.Topology, servers []topologies.Server) ([]topologies.Server, error) {
	if of.Kind == topologies.TopologyKindSingle || of.Kind == topologies.TopologyKindLoadBalanced {
		return servers, nil
	}
	nearest := time.Duration(math.MaxInt64 / 2)
	for i := range servers {
		if servers[i].AverageRTTSet {
			nearest = min(nearest, servers[i].AverageRTT)
		}
	}
	return slices.DeleteFunc(slices.Clone(servers), func(s topologies.Server) bool {
		return s.Kind != topologies.ServerKindRSPrimary && (s.Kind != topologies.ServerKindMongos || s.AverageRTT > nearest+w.farther)
	}), nil
}

// libraryError is an error of the library's lower part as its upper one gives it. One of the network is as it is.
func libraryError(err error) error {
	if answered, is := errors.AsType[driver.Error](err); is && answered.Raw != nil {
		return mongo.CommandError{Code: answered.Code, Name: answered.Name, Message: answered.Message, Labels: answered.Labels,
			Wrapped: answered.Wrapped, Raw: bson.Raw(answered.Raw)}
	}
	writes, is := errors.AsType[driver.WriteCommandError](err)
	if !is {
		return err
	}
	all := mongo.WriteException{Labels: writes.Labels, Raw: bson.Raw(writes.Raw)}
	for _, e := range writes.WriteErrors {
		all.WriteErrors = append(all.WriteErrors, mongo.WriteError{Index: int(e.Index), Code: int(e.Code), Message: e.Message,
			Details: bson.Raw(e.Details), Raw: bson.Raw(e.Raw)})
	}
	if c := writes.WriteConcernError; c != nil {
		all.WriteConcernError = &mongo.WriteConcernError{Name: c.Name, Code: int(c.Code), Message: c.Message, Details: bson.Raw(c.Details), Raw: bson.Raw(c.Raw)}
	}
	return all
}
