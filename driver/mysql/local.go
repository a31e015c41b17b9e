package mysql

import (
	"bufio"
	"bytes"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"assay/driver/uri"
	"assay/store"
)

// The address can have a Unix socket in place of the host, percent-encoded or in go-sql-driver's
// form, besides the option socket.
var (
	socketHost = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([a-z]+://(?:[^@/?#]*@)?)(%2[Ff][^/?#,:@]+)(.*)$`) })
	socketCall = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^([a-z]+://(?:[^@/?#]*@)?)(?:unix)?\((/[^()?#&@]*)\)(.*)$`)
	})
	nobody = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^((?:mysql|mariadb)://)(/.*|\?.*|)$`) })
)

const localhost = "localhost"

// plainForm rewrites a socket as the option, and adds a host; named reports whether the address had
// a host.
func plainForm(address string) (plain string, named bool) {
	for _, form := range []*regexp.Regexp{socketHost(), socketCall()} {
		parts := form.FindStringSubmatch(address)
		if parts == nil {
			continue
		}
		socket := parts[2]
		if form == socketCall() {
			socket = url.QueryEscape(socket)
		}
		separator := "?"
		if strings.Contains(parts[3], "?") {
			separator = "&"
		}
		return parts[1] + localhost + parts[3] + separator + "socket=" + socket, true
	}
	if parts := nobody().FindStringSubmatch(address); parts != nil {
		return parts[1] + localhost + parts[2], false
	}
	return address, true
}

func (s *settings) takeSocket(options uri.Options) error {
	path, given := options.Take("socket")
	if !given {
		return nil
	}
	if !filepath.IsAbs(path) {
		return &store.OptionError{Option: "socket", Value: path, Want: "the whole path of the server's Unix socket"}
	}
	if len(s.hosts) != 1 || s.hosts[0] != localhost+":"+defaultPort {
		return &store.OptionError{Option: "socket", Value: path, Want: "with localhost as the only host, and no port"}
	}
	s.hosts = []string{path}
	return nil
}

// NetworkOf is the network for a host of Access: "unix" for a path, else "tcp".
func NetworkOf(name string) string {
	if strings.HasPrefix(name, "/") {
		return "unix"
	}
	return "tcp"
}

// fillIn completes the address from the user's file of options and the environment, as MySQL's
// clients do: user, password, encryption and, if the address names no host, host, port or socket.
// An empty password ("user:@host") counts as given. Hosts of this machine that the address names,
// as those of assay's own servers, get no encryption from the file.
func (s *settings) fillIn(a *uri.Address, passwordGiven, named bool) error {
	of, err := clientOptions()
	if err != nil {
		return err
	}
	if s.user == "" {
		s.user = of["user"]
	}
	if s.password == "" && !passwordGiven {
		if s.password = of["password"]; s.password == "" {
			s.password = os.Getenv("MYSQL_PWD") // MySQL manual, "Environment Variables"
		}
	}
	if !named || !local(a.Hosts) {
		fillEncryption(a.Options, of)
	}
	if named {
		return nil
	}
	host := of["host"]
	if of["port"] != "" {
		if host == "" {
			host = localhost
		}
		host += ":" + of["port"]
	}
	if host != "" {
		file, err := uri.Parse("mysql://"+host+"/", wantAddress, defaultPort, "mysql")
		if err != nil {
			return &store.OptionError{Option: optionsFile, Value: "host, port", Want: "a host and a port that can be used"}
		}
		s.hosts = file.Hosts
	}
	if _, given := a.Options["socket"]; !given && of["socket"] != "" && (host == "" || of["host"] == localhost) {
		a.Options["socket"], s.hosts = of["socket"], []string{localhost + ":" + defaultPort}
	}
	return nil
}

// optionsFile is the user's file of options (MySQL manual, "Using Option Files").
const optionsFile = "~/.my.cnf"

// clientOptions are the options of the group client, none without a file. As in MySQL's clients, a
// file that others may write is not read.
func clientOptions() (map[string]string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, nil
	}
	path := filepath.Join(home, ".my.cnf")
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().Perm()&0o002 != 0 {
		return nil, nil
	}
	text, read := os.ReadFile(path)
	if err = errors.Join(err, read); err != nil {
		return nil, &store.OptionError{Option: optionsFile, Value: path, Reason: "it cannot be read", Want: "a file that this user may read, or none"}
	}
	return readClientOptions(text), nil
}

// readClientOptions reads groups in brackets, NAME=VALUE and comments. The last of several counts,
// and a dash is an underscore.
func readClientOptions(text []byte) map[string]string {
	options := map[string]string{}
	inside := false
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		switch {
		case line == "" || line[0] == '#' || line[0] == ';' || line[0] == '!':
		case line[0] == '[':
			group := strings.Trim(line, "[] \t")
			inside = group == "client" || group == "client-mariadb" || group == "client-server"
		case inside:
			name, value, _ := strings.Cut(line, "=")
			options[strings.ReplaceAll(strings.TrimSpace(name), "_", "-")] = optionValue(strings.TrimSpace(value))
		}
	}
	return options
}

func optionValue(value string) string {
	if n := len(value); n >= 2 && (value[0] == '\'' || value[0] == '"') && value[n-1] == value[0] {
		value = value[1 : n-1]
	} else if comment := strings.Index(value, " #"); comment >= 0 {
		value = strings.TrimSpace(value[:comment])
	}
	return strings.NewReplacer(`\\`, `\`, `\s`, " ", `\t`, "\t", `\n`, "\n", `\r`, "\r", `\b`, "\b", `\"`, `"`, `\'`, "'").Replace(value)
}
