package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"assay/runner/catalog"
	"assay/store"
	"assay/workload/script"
)

// ownDatabase is the application's database on servers that start without one.
const ownDatabase = "app"

// withDatabase returns the address of a database on servers of assay's own.
func withDatabase(ctx context.Context, address string) (string, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || strings.Trim(u.Path, "/") != "":
		return address, err
	case u.Scheme == "mongodb": // which makes it when something is written
		u.Path = "/" + ownDatabase
		return u.String(), nil
	case u.Scheme != "mysql" && u.Scheme != "mariadb":
		return address, nil
	}
	driver, err := catalog.DriverFor(address)
	if err != nil {
		return "", err
	}
	u.Path = "/mysql"
	if err := script.Do(ctx, driver.Open, store.Target{Address: u.String(), ConnectTimeout: 10 * time.Second}, "CREATE DATABASE "+ownDatabase); err != nil {
		return "", fmt.Errorf("create the application's database: %w", err)
	}
	u.Path = "/" + ownDatabase
	return u.String(), nil
}
