package mysql

import (
	"errors"
	"testing"
	"time"

	"assay/store"
)

func TestConnectTimeoutOfTheAddress(t *testing.T) {
	target := store.Target{Address: "mysql://u:p@a:1,b:2/?connect_timeout=2", ConnectTimeout: time.Minute}
	s, err := parse(target)
	if err != nil || s.connectTimeout != 2*time.Second || len(s.variables) != 0 {
		t.Errorf("%+v, %v", s, err)
	}
	for _, bad := range []string{"0", "-1", "2s", "soon", "99999"} {
		target.Address = "mysql://a:1/?connect_timeout=" + bad
		var option *store.OptionError
		if _, err := parse(target); !errors.As(err, &option) || option.Option != "connect_timeout" {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
