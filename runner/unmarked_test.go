package runner

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"assay/check"
	"assay/internal/expect"
	"assay/runner/lease"
)

// TestAMarkThatIsRemoved: what stands beside the run's lease is judged. By itself it is whole; rows
// deleted with the mark are lost, with their number.
func TestAMarkThatIsRemoved(t *testing.T) {
	t.Parallel()
	for _, removes := range []string{"DROP TABLE assay_mark", "DELETE FROM assay_mark"} {
		for deed, want := range map[string]check.Verdict{"": check.Valid, "; DELETE FROM assay_transfer WHERE rowid IN (SELECT rowid FROM assay_transfer LIMIT 7)": check.Violated} {
			path := filepath.Join(t.TempDir(), "file")
			s := small("sqlite:"+path, 3, 200)
			out := carryOutBy(t, s, Options{Progress: &intruder{stage: atReading, act: func() { execute(t, path, removes+deed) }}})
			mustBeUnmarked(t, out, want)
			if want == check.Violated && !strings.Contains(details(out.Result), "7 lost") {
				t.Errorf("it says %s", details(out.Result))
			}
		}
	}
}

func mustBeUnmarked(t *testing.T, out Outcome, want check.Verdict) {
	t.Helper()
	endedAs(t, want, out)
	if notes := strings.Join(out.Result.Notes, "\n"); !strings.Contains(notes, lease.NoteUnmarked) {
		t.Errorf("no note says that the mark is gone: %s", notes)
	}
}

// TestAMarkThatIsRemovedFromAServer: the same where the mark is elsewhere.
func TestAMarkThatIsRemovedFromAServer(t *testing.T) {
	t.Parallel()
	c := onServers(t, "mongodb:1")
	s := small(c.Address(), 3, 200)
	s.ConnectTimeout = time.Minute
	out := carryOutBy(t, s, Options{Progress: &intruder{stage: atReading, act: func() {
		client, err := mongo.Connect(options.Client().ApplyURI(c.Address()))
		if err == nil {
			_, err = client.Database("assay_bank").Collection("assay_mark").DeleteOne(t.Context(), bson.D{{Key: "_id", Value: "assay"}})
			err = errors.Join(err, client.Disconnect(t.Context()))
		}
		expect.NoError(t, err)
	}}})
	mustBeUnmarked(t, out, check.Valid)
}
