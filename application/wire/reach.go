package wire

import (
	"net"
	"net/url"
	"strings"
)

// Reach is how applications are led to a database that listens elsewhere. The password is in
// variables alone: every user of the machine can read arguments.
type Reach struct {
	Scheme, Options          string
	JDBC, JDBCOptions        string
	User, Password, Database string
	// Variables are those of the product's own clients, with {host} and {port}.
	Variables []string
}

// Environment are the variables by which clients and frameworks find host:port.
func (r Reach) Environment(listens string) []string {
	host, port, _ := net.SplitHostPort(listens)
	user := url.UserPassword(r.User, r.Password)
	if r.Password == "" {
		user = url.User(r.User)
	}
	jdbc := "jdbc:" + r.JDBC + "://" + listens + "/" + url.PathEscape(r.Database) + r.JDBCOptions
	all := []string{"DATABASE_URL=" + r.address(listens, user), "JDBC_DATABASE_URL=" + jdbc, "SPRING_DATASOURCE_URL=" + jdbc}
	for _, framework := range []string{"JDBC_DATABASE", "SPRING_DATASOURCE"} {
		all = append(all, framework+"_USERNAME="+r.User, framework+"_PASSWORD="+r.Password)
	}
	for _, v := range r.Variables {
		name, value, _ := strings.Cut(v, "=")
		switch value {
		case "{host}":
			value = host
		case "{port}":
			value = port
		}
		all = append(all, name+"="+value)
	}
	return all
}

// Address is what {db} stands for in arguments.
func (r Reach) Address(listens string) string { return r.address(listens, url.User(r.User)) }

func (r Reach) address(listens string, user *url.Userinfo) string {
	u := url.URL{Scheme: r.Scheme, User: user, Host: listens, Path: "/" + r.Database, RawQuery: strings.TrimPrefix(r.Options, "?")}
	return u.String()
}

// Hide takes the password out of a text, in all forms in which addresses have it.
func (r Reach) Hide(text string) string {
	if r.Password == "" {
		return text
	}
	for _, secret := range []string{r.Password, url.QueryEscape(r.Password), url.PathEscape(r.Password), url.UserPassword("", r.Password).String()[1:]} {
		text = strings.ReplaceAll(text, secret, "xxxxx")
	}
	return text
}
