package postgres

import (
	"net"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"

	"assay/internal/expect"
)

// TestSocketOptions of the connection; see socket(7), tcp(7).
func TestSocketOptions(t *testing.T) {
	for query, want := range map[string]socketOptions{
		"keepalives=0": {},
		"keepalives=1&keepalives_idle=11&keepalives_interval=12&keepalives_count=13&tcp_user_timeout=1400": {1, 11, 12, 13, 1400},
	} {
		config, _, err := parse(target(t, func(u *url.URL) { u.RawQuery += "&" + query }))
		expect.NoError(t, err)
		conn, err := pgx.ConnectConfig(t.Context(), config)
		expect.NoError(t, err)
		if got := optionsOf(t, conn.PgConn().Conn()); got != want {
			t.Errorf("%s: %+v, want %+v", query, got, want)
		}
		conn.Close(t.Context())
	}
}

// socketOptions are set by libpq's keepalives, _idle, _interval, _count and tcp_user_timeout.
type socketOptions struct{ alive, idle, interval, count, timeout int }

func plainSocket(t *testing.T, c net.Conn) *net.TCPConn {
	t.Helper()
	socket, is := c.(*net.TCPConn)
	if !is {
		t.Fatalf("a connection of type %T", c)
	}
	return socket
}

func optionsOf(t *testing.T, c net.Conn) (o socketOptions) {
	t.Helper()
	raw, err := plainSocket(t, c).SyscallConn()
	expect.NoError(t, err)
	err = raw.Control(func(fd uintptr) {
		get := func(level, option int) int {
			value, err := unix.GetsockoptInt(int(fd), level, option)
			if err != nil {
				t.Error(err)
			}
			return value
		}
		if o.alive = get(unix.SOL_SOCKET, unix.SO_KEEPALIVE); o.alive == 1 {
			o.idle, o.interval, o.count = get(unix.IPPROTO_TCP, unix.TCP_KEEPIDLE), get(unix.IPPROTO_TCP, unix.TCP_KEEPINTVL), get(unix.IPPROTO_TCP, unix.TCP_KEEPCNT)
		}
		o.timeout = get(unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT)
	})
	expect.NoError(t, err)
	return o
}
