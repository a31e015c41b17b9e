package mongodb

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"assay/internal/expect"
)

// standIn stands in for a mongos: it is none. It passes everything on to one
// real mongod, but says of itself what a mongos says, and has the commands that
// only a mongos has and not those that it lacks. What it is told to shard it
// writes down, and shards nothing. So it shows what the driver asks of a router,
// and that the driver works with one's answers, and nothing of how a sharded
// cluster behaves.
type standIn struct {
	server   string
	wire     int32 // the maxWireVersion that it claims; 0: the server's
	listener net.Listener
	running  sync.WaitGroup

	mu    sync.Mutex
	asked []bson.D
	links map[net.Conn]struct{}
	over  bool
}

// startStandIn stands before server, "host:port", until the test ends.
func startStandIn(t *testing.T, server string, wire int32) *standIn {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	r := &standIn{server: server, wire: wire, listener: listener, links: map[net.Conn]struct{}{}}
	r.running.Go(r.accept)
	t.Cleanup(r.close)
	return r
}

func (r *standIn) address() string { return "mongodb://" + r.listener.Addr().String() + "/" }

func (r *standIn) close() {
	r.listener.Close()
	r.mu.Lock()
	r.over = true
	for c := range r.links {
		c.Close()
	}
	r.mu.Unlock()
	r.running.Wait()
}

// sharding is what it was asked to shard since the last call: the commands that
// only a mongos has, without what the library adds to them.
func (r *standIn) sharding() []bson.D {
	r.mu.Lock()
	defer r.mu.Unlock()
	asked := r.asked
	r.asked = nil
	return asked
}

func (r *standIn) accept() {
	for {
		client, err := r.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", r.server)
		if err != nil {
			client.Close()
			continue
		}
		r.mu.Lock()
		r.links[client], r.links[server] = struct{}{}, struct{}{}
		if r.over {
			client.Close()
			server.Close()
		}
		r.mu.Unlock()
		l := &standInLink{router: r, client: client, server: server, edits: map[uint32]func(bson.D) bson.D{}}
		r.running.Go(func() { l.pump(client, server, l.request) })
		r.running.Go(func() { l.pump(server, client, l.answer) })
	}
}

// standInLink is one client's connection.
type standInLink struct {
	router         *standIn
	client, server net.Conn

	mu    sync.Mutex // of writing to the client, and of edits
	edits map[uint32]func(bson.D) bson.D
}

// pump carries messages one way, as each wants them, until one side ends.
func (l *standInLink) pump(from, to net.Conn, each func([]byte) ([]byte, error)) {
	defer func() {
		from.Close()
		to.Close()
		l.router.mu.Lock()
		delete(l.router.links, from)
		l.router.mu.Unlock()
	}()
	for {
		message, err := readMessage(from)
		if err == nil {
			message, err = each(message)
		}
		if err == nil && message != nil {
			l.mu.Lock()
			_, err = to.Write(message)
			l.mu.Unlock()
		}
		if err != nil {
			return
		}
	}
}

// The wire protocol (MongoDB manual, "MongoDB Wire Protocol").
const (
	wireHeader = 16
	opReply    = 1
	opQuery    = 2004
	opMsg      = 2013
)

func readMessage(c net.Conn) ([]byte, error) {
	header := make([]byte, wireHeader)
	if _, err := io.ReadFull(c, header); err != nil {
		return nil, err
	}
	size := binary.LittleEndian.Uint32(header)
	if size < wireHeader || size > 64<<20 {
		return nil, errors.New("no message of MongoDB's")
	}
	message := append(header, make([]byte, size-wireHeader)...)
	_, err := io.ReadFull(c, message[wireHeader:])
	return message, err
}

// body is where the message's first document is, 0 if there is none.
func body(message []byte) int {
	switch binary.LittleEndian.Uint32(message[12:]) {
	case opMsg:
		if len(message) > 21 && message[20] == 0 {
			return 21
		}
	case opQuery:
		name := slices.Index(message[20:], 0)
		return 20 + name + 1 + 8
	case opReply:
		return 36
	}
	return 0
}

func documentAt(message []byte, at int) (document bson.D, err error) {
	size := int(binary.LittleEndian.Uint32(message[at:]))
	return document, bson.Unmarshal(message[at:at+size], &document)
}

// replaced is the message with another first document, which must be its last.
func replaced(message []byte, at int, document bson.D) ([]byte, error) {
	raw, err := bson.Marshal(document)
	if err != nil {
		return nil, err
	}
	message = append(slices.Clone(message[:at]), raw...)
	if binary.LittleEndian.Uint32(message[12:]) == opMsg {
		binary.LittleEndian.PutUint32(message[16:], 0) // no checksum, and nothing more to come
	}
	binary.LittleEndian.PutUint32(message, uint32(len(message)))
	return message, nil
}

// reply is an answer to a request of its own making.
func reply(request []byte, document bson.D) ([]byte, error) {
	message := make([]byte, 21)
	copy(message[8:12], request[4:8])
	binary.LittleEndian.PutUint32(message[12:], opMsg)
	return replaced(message, 21, document)
}

// request answers a client itself, or passes its message on.
func (l *standInLink) request(message []byte) ([]byte, error) {
	at := body(message)
	if at == 0 {
		return message, nil
	}
	command, err := documentAt(message, at)
	if err != nil || len(command) == 0 {
		return nil, errors.New("no command")
	}
	if own := l.own(command); own != nil {
		answer, err := reply(message, own)
		if err != nil {
			return nil, err
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		_, err = l.client.Write(answer)
		return nil, err
	}
	var edit func(bson.D) bson.D
	switch strings.ToLower(command[0].Key) {
	case "hello", "ismaster":
		edit = l.router.hello
	case "serverstatus":
		edit = func(d bson.D) bson.D { return dropped(d, "storageEngine", "wiredTiger", "locks", "globalLock") }
	}
	if edit != nil {
		l.mu.Lock()
		l.edits[binary.LittleEndian.Uint32(message[4:])] = edit
		l.mu.Unlock()
	}
	return message, nil
}

// own is the answer to what a mongod answers otherwise, or not at all.
func (l *standInLink) own(command bson.D) bson.D {
	refused := func(code int32, text string) bson.D {
		return bson.D{{Key: "ok", Value: 0.0}, {Key: "errmsg", Value: text}, {Key: "code", Value: code}}
	}
	switch command[0].Key {
	case "enableSharding", "shardCollection":
		l.router.mu.Lock()
		defer l.router.mu.Unlock()
		l.router.asked = append(l.router.asked, dropped(command, "lsid", "$db", "$clusterTime", "$readPreference", "maxTimeMS"))
		return bson.D{{Key: "ok", Value: 1.0}}
	case "listShards":
		return manualShards()
	case "compact", "replSetGetConfig":
		return refused(59, "no such cmd: "+command[0].Key)
	case "getParameter":
		return refused(72, "no option found to get")
	default:
		return nil
	}
}

// answer makes an answer that of a mongos.
func (l *standInLink) answer(message []byte) ([]byte, error) {
	l.mu.Lock()
	id := binary.LittleEndian.Uint32(message[8:])
	edit := l.edits[id]
	delete(l.edits, id)
	l.mu.Unlock()
	at := body(message)
	if edit == nil || at == 0 {
		return message, nil
	}
	document, err := documentAt(message, at)
	if err != nil {
		return nil, err
	}
	return replaced(message, at, edit(document))
}

// hello is what a mongos says: nothing of a replica set, and who it is (MongoDB
// manual, "hello", "Sharded Instances"). Without topologyVersion the library
// asks again and again instead of waiting for changes.
func (r *standIn) hello(d bson.D) bson.D {
	d = dropped(d, "topologyVersion", "setName", "setVersion", "hosts", "passives", "arbiters", "primary", "me",
		"electionId", "lastWrite", "secondary")
	for i := range d {
		if d[i].Key == "maxWireVersion" && r.wire != 0 {
			d[i].Value = r.wire
		}
	}
	return append(d, bson.E{Key: "msg", Value: routerMessage})
}

func dropped(d bson.D, names ...string) bson.D {
	return slices.DeleteFunc(slices.Clone(d), func(e bson.E) bool { return slices.Contains(names, e.Key) })
}

// manualShards is the example of MongoDB's manual, "listShards".
func manualShards() bson.D {
	one := func(name, hosts string, more ...bson.E) bson.D {
		return append(bson.D{{Key: "_id", Value: name}, {Key: "host", Value: name + "/" + hosts}, {Key: "state", Value: int32(1)}}, more...)
	}
	return bson.D{{Key: "shards", Value: bson.A{
		one("shard01", "host1:27018,host2:27018,host3:27018"),
		one("shard02", "host4:27018,host5:27018,host6:27018", bson.E{Key: "tags", Value: bson.A{"NYC"}}),
		one("shard03", "host7:27018,host8:27018,host9:27018"),
	}}, {Key: "ok", Value: 1.0}}
}
