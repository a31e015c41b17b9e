package mysql

import (
	"context"
	"net"
	"testing"
	"time"

	"assay/application/wire/wiretest"
	"assay/internal/expect"
)

// TestASilentHost leaves the next one time, whether the address says how long it may take or not.
func TestASilentHost(t *testing.T) {
	t.Parallel()
	second, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	expect.AtEnd(t, second.Close)
	for options, within := range map[string]time.Duration{"?connect_timeout=10": time.Minute, "": 20 * time.Second} {
		product, err := New("mysql://u@" + wiretest.Silent(t) + "," + second.Addr().String() + "/" + options)
		expect.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), within)
		conn, err := product.Dial(ctx)
		cancel()
		expect.NoError(t, err)
		if got := conn.RemoteAddr().String(); got != second.Addr().String() {
			t.Errorf("%q: it connects to %s", options, got)
		}
		expect.NoError(t, conn.Close())
	}
}
