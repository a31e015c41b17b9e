package wire

import (
	"net"
	"net/url"
	"strings"
)

// Reach is how applications are led to a database that listens elsewhere. The password is in
// variables alone: every user of the machine can read arguments.
type Reach struct {
	// Product is what the database is called.
	Product         string
	Scheme, Options string
	// Secret are more options that only variables have, since they hold secrets, as Password is one. Hidden
	// are these, as Hide takes them out.
	Secret                   string
	Hidden                   []string
	JDBC, JDBCOptions        string
	User, Password, Database string
	// Variables are those of the product's own clients, with {host}, {port}, {address} and {ca}.
	Variables []string
}

// Environment are the variables by which clients and frameworks find host:port, and the file with
// the authority that has signed the certificate there.
func (r Reach) Environment(listens, authority string) []string {
	host, port, _ := net.SplitHostPort(listens)
	user := r.user()
	if r.Password != "" {
		user = url.UserPassword(r.User, r.Password)
	}
	jdbc := "jdbc:" + r.JDBC + "://" + listens + "/" + url.PathEscape(r.Database) + r.JDBCOptions
	address := r.address(listens, user, r.Secret)
	all := []string{"DATABASE_URL=" + address, "ASSAY_CA=" + authority}
	for _, framework := range []string{"JDBC_DATABASE", "SPRING_DATASOURCE"} {
		if r.JDBC != "" {
			all = append(all, framework+"_URL="+jdbc, framework+"_USERNAME="+r.User, framework+"_PASSWORD="+r.Password)
		}
	}
	for _, v := range r.Variables {
		name, value, _ := strings.Cut(v, "=")
		switch value {
		case "{host}":
			value = host
		case "{port}":
			value = port
		case "{address}":
			value = address
		case "{ca}":
			value = authority
		}
		all = append(all, name+"="+value)
	}
	return all
}

// Names are the variables that lead there.
func (r Reach) Names() []string {
	all := []string{"DATABASE_URL"}
	for _, v := range r.Variables {
		if name, value, _ := strings.Cut(v, "="); strings.HasPrefix(value, "{") && value != "{ca}" {
			all = append(all, name)
		}
	}
	return all
}

// Address is what {db} stands for in arguments.
func (r Reach) Address(listens string) string { return r.address(listens, r.user(), "") }

func (r Reach) user() *url.Userinfo {
	if r.User == "" {
		return nil
	}
	return url.User(r.User)
}

func (r Reach) address(listens string, user *url.Userinfo, more string) string {
	query := strings.Trim(strings.TrimPrefix(r.Options, "?")+"&"+more, "&")
	u := url.URL{Scheme: r.Scheme, User: user, Host: listens, Path: "/" + r.Database, RawQuery: query}
	return u.String()
}

// Hide takes the password and other secrets out of a text, in all forms in which addresses have them.
func (r Reach) Hide(text string) string {
	for _, s := range append([]string{r.Password}, r.Hidden...) {
		if s == "" {
			continue
		}
		for _, form := range []string{s, url.QueryEscape(s), url.PathEscape(s), url.UserPassword("", s).String()[1:]} {
			text = strings.ReplaceAll(text, form, "xxxxx")
		}
	}
	return text
}
