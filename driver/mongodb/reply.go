package mongodb

import (
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"
)

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
	done, refused := false, false
	for at := bodyStart + 4; at < end-1; {
		element, _, whole := bsoncore.ReadElement(message[at : end-1])
		if !whole {
			refused = true
			break
		}
		switch string(element.KeyBytes()) {
		case "ok":
			n, _ := element.Value().AsFloat64OK()
			done = n == 1
		case "writeErrors", "writeConcernError":
			refused = true
		default:
			t.heard(element)
		}
		at += len(element)
	}
	document := message[bodyStart:end]
	if refused || !done { // the library says what is wrong
		if err := driver.ExtractErrorFromServerResponse(document); err != nil {
			return nil, err
		}
	}
	return document, nil
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
