package mongodb

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"assay/driver/ownership"
	"assay/driver/replicas"
	"assay/internal/wait"
	"assay/store"
)

// markCollection holds the mark, in the database of every workload.
const markCollection = "assay_mark"

// mark is a store.Marker in the database.
type mark struct {
	ID           string `bson:"_id"`
	store.Marker `bson:",inline"`
	// Made is what a user's setup has made, as objects names it.
	Made []string `bson:"made,omitempty"`
}

// markID is the _id of the mark, the only document of its collection.
const markID = "assay"

// Title implements ownership.Place.
func (s *database) Title() string { return "database " + s.database.Name() }

// ReadMark implements ownership.Place. An empty collection for marks, alone, is what is left
// when creation ends at its very first step; it counts as nothing. So does a lease.
func (s *database) ReadMark(ctx context.Context, _ ownership.Direct) (*store.Marker, error) {
	m, err := s.readMark(ctx)
	if err != nil || m == nil {
		return nil, err
	}
	return &m.Marker, nil
}

func (s *database) readMark(ctx context.Context) (*mark, error) {
	names, err := s.present(ctx, bson.D{})
	if err != nil || len(names) == 0 {
		return nil, err
	}
	var m mark
	err = s.marks.FindOne(ctx, byID(markID)).Decode(&m)
	if err == nil {
		m.Created = m.Created.UTC()
		return &m, nil
	}
	foreign := &store.ForeignError{Name: s.Title(),
		Hint: "rename it, or drop it with db.getSiblingDB(\"" + s.database.Name() + "\").dropDatabase() if nobody needs it"}
	if _, answered := serverCode(err); answered || mongo.IsNetworkError(err) || mongo.IsTimeout(err) || ctx.Err() != nil {
		return nil, failed("read the mark", err)
	}
	if !errors.Is(err, mongo.ErrNoDocuments) || len(names) > 1 || names[0] != markCollection {
		return nil, foreign
	}
	n, err := s.marks.CountDocuments(ctx, bson.D{})
	if n > 0 {
		return nil, foreign
	}
	return nil, failed("read the mark", err)
}

// present are the names of the collections, but for the lease's and the server's own
// (system.profile, system.views), which are nobody's data; with a filter, of those.
func (s *database) present(ctx context.Context, filter bson.D) ([]string, error) {
	names, err := s.database.ListCollectionNames(ctx, filter)
	return slices.DeleteFunc(names, func(name string) bool {
		return strings.HasPrefix(name, "system.") || name == leaseCollection
	}), failed("list the collections", err)
}

// own are our collections beside the mark.
func (s *database) own(ctx context.Context) ([]*mongo.Collection, error) {
	if !s.of.Open {
		return s.collections, nil
	}
	names, err := s.present(ctx, bson.D{{Key: "type", Value: bson.D{{Key: "$ne", Value: "view"}}}}) // which are of another's making
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var all []*mongo.Collection
	for _, name := range names {
		if name != markCollection {
			all = append(all, s.database.Collection(name))
		}
	}
	return all, nil
}

// Rows implements ownership.Place: it counts the documents of the tables that are loaded, or
// of all our collections if none is.
func (s *database) Rows(ctx context.Context, _ ownership.Direct) (rows int64, err error) {
	var counted []*mongo.Collection
	for i, t := range s.of.Tables {
		if t.Loaded {
			counted = append(counted, s.collections[i])
		}
	}
	if counted == nil {
		if counted, err = s.own(ctx); err != nil {
			return 0, err
		}
	}
	for _, c := range counted {
		n, err := c.CountDocuments(ctx, bson.D{})
		if err != nil {
			return 0, failed("count collection "+c.Name(), err)
		}
		rows += n
	}
	return rows, nil
}

// create makes the collections with these options, after dropping what an earlier run left under
// our mark. The mark comes first and goes last, so that whatever moment it is
// interrupted at, what is there is known as ours. The collections are made
// beforehand since not every transaction can make them, and are sharded, where
// that is asked for, while they are empty. The mark is never sharded.
func (s *database) create(ctx context.Context, m store.Marker, o ...options.Lister[options.CreateCollectionOptions]) error {
	if err := s.clear(ctx); err != nil {
		return err
	}
	if _, err := s.marks.InsertOne(ctx, mark{ID: markID, Marker: m}); err != nil {
		return failed("write the mark", err)
	}
	if err := s.allowSharding(ctx); err != nil {
		return err
	}
	for _, c := range s.collections {
		if err := s.createCollection(ctx, c.Name(), o...); err != nil {
			return err
		}
	}
	return nil
}

// FinishLoad makes the indexes that are made late, and sets the mark's Loaded.
func (s *database) FinishLoad(ctx context.Context) error {
	if err := s.makeIndexes(ctx, true); err != nil {
		return err
	}
	if s.of.Open {
		if err := s.RecordMade(ctx); err != nil {
			return err
		}
	}
	if err := s.Schema.FinishLoad(ctx); err != nil {
		return err
	}
	return s.reach(ctx)
}

// WriteMark implements ownership.Place: what a user's setup has made stays noted.
func (s *database) WriteMark(ctx context.Context, _ ownership.Direct, mark store.Marker) error {
	_, err := s.marks.UpdateByID(ctx, markID, bson.D{{Key: "$set", Value: bson.D{{Key: "loaded", Value: mark.Loaded}}}})
	return failed("write the mark", err)
}

// Drop drops our collections if there is our mark, and the lease's. It does not
// drop the database, which ends with its last collection.
func (s *database) Drop(ctx context.Context) error {
	if err := s.clear(ctx); err != nil {
		return err
	}
	return failed("drop collection "+leaseCollection, s.leases().Drop(ctx))
}

// clear drops all collections but the lease's, if there is our mark and no lease
// keeps us out.
func (s *database) clear(ctx context.Context) error {
	m, err := s.Admit(ctx, ownership.Direct{})
	if err != nil || m == nil {
		return err
	}
	all, err := s.own(ctx)
	if err != nil {
		return err
	}
	all = slices.Clone(all)
	slices.Reverse(all)
	return s.dropCollections(ctx, append(all, s.marks))
}

// killInterval is the pause between two looks for transactions in the way of a
// drop.
const killInterval = time.Second

// dropCollections drops the collections in this order. A drop waits for every open
// transaction that has used its collection. Those of clients that are gone end only
// after transactionLifetimeLimitSeconds; so they are killed meanwhile, again and
// again, since a server that was frozen may still have to read what such a client
// sent. The drop itself is not given up and repeated: the server could carry out
// the first one when the collection is there anew.
//
// Whoever may drop the collections may end what others are doing to them: they
// carry our mark, and no run that is alive has the lease. Behind routers nothing
// is killed; see Settle.
func (s *database) dropCollections(ctx context.Context, all []*mongo.Collection) error {
	killing, stop := context.WithCancel(ctx)
	var killer sync.WaitGroup
	defer killer.Wait()
	defer stop()
	if !s.sharded {
		killer.Go(func() {
			// Where the server shows no transactions or refuses, its lifetime limit ends them.
			for over := error(nil); over == nil; over = wait.Pause(killing, killInterval) {
				_ = s.killOpen(killing) // the drop has the error that counts
			}
		})
	}
	for _, c := range all {
		if err := c.Drop(ctx); err != nil {
			return failed("drop collection "+c.Name(), err)
		}
	}
	return nil
}

// killOpen kills the sessions of this workload's clients, of the same user, that
// have a transaction open (MongoDB manual, "killSessions": without further rights
// one's own).
func (s *database) killOpen(ctx context.Context) error {
	cursor, err := s.admin.Aggregate(ctx, openTransactions(s.of.Workload))
	if err != nil {
		return err
	}
	var open []struct {
		Session struct {
			ID bson.Binary `bson:"id"`
		} `bson:"lsid"`
	}
	if err := cursor.All(ctx, &open); err != nil || len(open) == 0 {
		return err
	}
	sessions := bson.A{}
	for _, o := range open {
		sessions = append(sessions, bson.D{{Key: "id", Value: o.Session.ID}})
	}
	return s.admin.RunCommand(ctx, bson.D{{Key: "killSessions", Value: sessions}}).Err()
}

// Size asks the server what the collections take. It knows the sizes as of its last
// checkpoint, up to a minute ago; so it is asked for one first, which not every
// user may. Collections are counted one by one, since the server's own counter
// may be wrong after it was killed (MongoDB manual, "$collStats", count).
func (s *database) Size(ctx context.Context) (store.Size, error) {
	if err := s.MustBeOurs(ctx, "size"); err != nil {
		return store.Size{}, err
	}
	err := s.admin.RunCommand(ctx, bson.D{{Key: "fsync", Value: 1}}).Err()
	if _, answered := serverCode(err); err != nil && !answered {
		return store.Size{}, failed("write a checkpoint", err)
	}
	size := store.Size{Rows: map[string]int64{}}
	all, err := s.own(ctx)
	if err != nil {
		return store.Size{}, err
	}
	for _, c := range all {
		tables, indexes, err := storage(ctx, c)
		if err != nil {
			return store.Size{}, failed("ask for the size of collection "+c.Name(), err)
		}
		size.Tables += tables
		size.Indexes += indexes
		if size.Rows[c.Name()], err = c.CountDocuments(ctx, bson.D{}); err != nil {
			return store.Size{}, failed("count collection "+c.Name(), err)
		}
	}
	size.Bytes = size.Tables + size.Indexes
	return size, nil
}

// storage adds up a collection's data and indexes over all shards.
func storage(ctx context.Context, c *mongo.Collection) (data, indexes int64, err error) {
	cursor, err := c.Aggregate(ctx, bson.A{bson.D{{Key: "$collStats", Value: bson.D{{Key: "storageStats", Value: bson.D{}}}}}})
	if err != nil {
		return 0, 0, err
	}
	var parts []storagePart
	err = cursor.All(ctx, &parts)
	data, indexes = added(parts)
	return data, indexes, err
}

// storagePart is what $collStats says of one shard; of a collection that is not
// sharded there is one document (MongoDB manual, "$collStats").
type storagePart struct {
	Stats struct {
		Data    int64 `bson:"storageSize"`
		Indexes int64 `bson:"totalIndexSize"`
	} `bson:"storageStats"`
}

func added(parts []storagePart) (data, indexes int64) {
	for _, part := range parts {
		data += part.Stats.Data
		indexes += part.Stats.Indexes
	}
	return data, indexes
}

// Close releases the connections, those to members that are gone as well; all
// at once, since each of these takes its time.
func (s *database) Close() error {
	err := s.hangUp()
	s.endSessions()
	s.mu.Lock()
	clients := append(slices.Collect(maps.Values(s.members)), s.client)
	s.members = nil
	s.mu.Unlock()
	_, failures := replicas.AskAll(context.Background(), clients, func(_ context.Context, client *mongo.Client) (bool, error) { return true, disconnect(client) })
	return errors.Join(append(failures, err)...)
}

// failed wraps an error of the library with what was being done; nil stays nil.
func failed(doing string, err error) error {
	if err == nil {
		return nil
	}
	if code, answered := serverCode(err); answered {
		return fmt.Errorf("mongodb: %s: %w (code %d)", doing, plainly(err), code)
	}
	return fmt.Errorf("mongodb: %s: %w", doing, plainly(err))
}
