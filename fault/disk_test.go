package fault

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"assay/cluster"
	"assay/cluster/disk"
	"assay/cluster/server"
	"assay/internal/expect"
)

func TestMain(m *testing.M) {
	if disk.Child() {
		os.Exit(disk.Serve())
	}
	// A limit of disk writes needs a disk, and the usual folder may be in memory.
	if err := os.Setenv("TMPDIR", "/var/tmp"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// keepWriting inserts rows into a PostgreSQL until the test ends, in spite of errors.
func keepWriting(t *testing.T, c *cluster.Cluster) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	t.Cleanup(func() {
		cancel()
		<-done
	})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if err := insertRows(ctx, c.Address()); err != nil {
				sleepUntil(ctx, time.Now().Add(50*time.Millisecond))
			}
		}
	}()
}

func insertRows(ctx context.Context, address string) error {
	bounded, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	conn, err := pgx.Connect(bounded, address)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err = conn.Exec(bounded, "CREATE TABLE IF NOT EXISTS filled (text TEXT)"); err != nil {
		return err
	}
	for range 20 {
		if _, err = conn.Exec(bounded, "INSERT INTO filled SELECT repeat(md5(n::text), 20) FROM generate_series(1, 200) n"); err != nil {
			return err
		}
	}
	return nil
}

// TestDisksFail makes a writing server's disk fail in each way. Slow and stalled ones are below.
func TestDisksFail(t *testing.T) {
	t.Parallel()
	c := startCluster(t, "postgres:1,disk=faulty")
	keepWriting(t, c)
	const unread = "nobody has read it"
	for _, test := range []struct{ fault, proof, healing string }{
		{"power-cut=worst all at 0s for 50ms", "input/output error", "are lost"},
		{"fsync-error primary at 0s for 2s", "the fsync of ", "its disk works again"},
		{"disk-full n1 at 0s for 300ms", "no space left on device", "its disk works again"},
		{"read-error=base/*/* n1 at 0s for 300ms", "base/", "its disk works again"},
		{"bit-flip=base/5/PG_VERSION any at 0s for 10s", "PG_VERSION was 0x", "the byte is what it was"}, // of the database that is written to
		{"bit-flip=data/PG_VERSION any at 0s for 100ms", unread, "the byte is what it was"},              // which is for the start
		{"io-delay=20ms n1 at 0s for 1s", "kept waiting, ", "as quick as before"},
	} {
		expect.NoError(t, Validate(t.Context(), parse(t, test.fault), Servers(c)))
		i := happen(t, c, test.fault)[0]
		if i.Proven == (test.proof == unread) || !strings.Contains(i.Proof, test.proof) {
			t.Errorf("%s: proven %v: %s", test.fault, i.Proven, i.Proof)
		}
		if !i.Healed || !strings.Contains(i.Healing, test.healing) {
			t.Errorf("%s: healed %v: %s", test.fault, i.Healed, i.Healing)
		}
		checkWhole(t, c)
	}
}

// TestMariaDBOnAFaultyDisk starts, works and comes back. MongoDB is below.
func TestMariaDBOnAFaultyDisk(t *testing.T) {
	t.Parallel()
	var id string
	t.Cleanup(func() { // called after the cluster's end
		if mounted(t, id) {
			t.Error("a mount is left")
		}
	})
	c := startCluster(t, "mariadb:1,disk=faulty-journal")
	id = c.ID()
	if !mounted(t, id) {
		t.Error("it has no disk of its own")
	}
	if i := happen(t, c, "power-cut n1 at 0s for 50ms")[0]; !i.Proven || !i.Healed {
		t.Fatalf("%+v", i)
	}
	checkWhole(t, c)
}

func TestWhichDisksFaultsTake(t *testing.T) {
	for fault, want := range map[string]string{
		"power-cut n1": cluster.DiskImage, "power-cut=some n1": cluster.DiskFaulty, "kill n1": "",
		"fsync-error n1": cluster.DiskFaulty, "disk-full n1": cluster.DiskFaulty, "read-error n1": cluster.DiskFaulty, "bit-flip n1": cluster.DiskFaulty,
		"io-delay n1": cluster.DiskFaulty, "slow-fsync n1": cluster.DiskFaulty, "disk-stall n1": cluster.DiskFaulty,
	} {
		spec, err := cluster.ParseSpec("postgres:1")
		expect.NoError(t, err)
		if s := WithMeans(spec, parse(t, fault, "kill n1")); s.Disk != want {
			t.Errorf("%s: disk %q, want %q", fault, s.Disk, want)
		}
		spec.Disk = cluster.DiskFaultyJournal
		if s := WithMeans(spec, parse(t, fault)); s.Disk != spec.Disk {
			t.Errorf("%s replaces the disk that was asked for by %q", fault, s.Disk)
		}
	}
}

// TestWhatAPlainServerIsRefused, before anything is started or loaded: faults of a disk that does
// not fail, and members that come or go.
func TestWhatAPlainServerIsRefused(t *testing.T) {
	t.Parallel()
	c := startCluster(t, "postgres:1,network=loopback")
	for _, text := range []string{"fsync-error n1", "disk-full n1", "read-error n1", "bit-flip n1", "io-delay n1", "slow-fsync n1", "disk-stall n1"} {
		mustBeUnavailable(t, c, text, "disk=faulty")
	}
	for _, text := range []string{"grow cluster", "remove n1"} {
		err := Validate(t.Context(), parse(t, text), Servers(c))
		var fixed *server.FixedError
		var target *TargetError
		if !errors.As(err, &fixed) && !errors.As(err, &target) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestParseDiskFaults(t *testing.T) {
	for _, text := range []string{
		"power-cut=torn all at 3s", "fsync-error=old primary", "fsync-error=new n2 every 10s for 2s", "disk-full any",
		"read-error=*.ibd n1", "bit-flip=base/*/* secondary at 1s for 4s", "io-delay=1m30s any", "slow-fsync=2s primary at 1s for 4s", "disk-stall all for ever",
	} {
		f, err := Parse(text)
		if err != nil || f.String() != text {
			t.Errorf("%s: %s, %v", text, f, err)
		}
	}
	for _, text := range []string{"power-cut=all n1", "fsync-error=maybe n1", "disk-full=1GiB n1", "read-error=[ n1", "bit-flip= n1", "io-delay=0s n1", "slow-fsync=2 n1", "disk-stall=1s n1"} {
		var wrong *ParseError
		if _, err := Parse(text); !errors.As(err, &wrong) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestAPrimaryWhoseDiskIsSlow answers questions although syncs take seconds, and its fate is
// reported.
func TestAPrimaryWhoseDiskIsSlow(t *testing.T) {
	t.Parallel()
	c := startCluster(t, "postgres:2,disk=faulty")
	keepWriting(t, c)
	if i := happen(t, c, "slow-fsync=2s primary at 0s for 5s")[0]; !i.Proven || !i.Healed || i.Primary == "" || i.PrimaryStayed == (i.NewPrimary != "") {
		t.Errorf("%+v", i)
	}
	checkWhole(t, c)
}

// TestAServerOnAStalledDiskIsKilled at once, and comes back with the disk.
func TestAServerOnAStalledDiskIsKilled(t *testing.T) {
	t.Parallel()
	c := startCluster(t, "mongodb:1,shutdown=100ms,disk=faulty")
	for _, i := range happen(t, c, "disk-stall n1 at 0s for 2s", "kill n1 at 1s for 3s") {
		if !i.Proven || !i.Healed || i.Problem != "" {
			t.Errorf("%+v", i)
		}
	}
	checkWhole(t, c)
}
