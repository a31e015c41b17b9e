package mongodb

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"assay/cluster/server"
)

// settings splits settings into arguments and lines of the configuration file, which reads a quoted
// value as the key's type.
func settings(all []string) (args, config []string) {
	for _, setting := range all {
		name, value, _ := strings.Cut(setting, "=")
		if strings.Contains(name, ".") {
			config = append(config, name+": "+strconv.Quote(value))
		} else {
			args = append(args, "--setParameter", setting)
		}
	}
	return args, config
}

// Parameter asks member i for the value of a parameter (getParameter) or, if the name has dots, of
// a key of its configuration (getCmdLineOpts).
func (m *ReplicaSet) Parameter(ctx context.Context, i int, name string) (string, error) {
	command, path := bson.D{{Key: "getParameter", Value: 1}, {Key: name, Value: 1}}, []string{name}
	if strings.Contains(name, ".") {
		command, path = bson.D{{Key: "getCmdLineOpts", Value: 1}}, append([]string{"parsed"}, strings.Split(name, ".")...)
	}
	var reply bson.Raw
	if err := run(ctx, m.nodes.At(i), answerBound, command, &reply); err != nil {
		return "", err
	}
	found, err := reply.LookupErr(path...)
	if err != nil {
		return "", errors.New("its answer does not name it")
	}
	var value any
	if err := found.Unmarshal(&value); err != nil {
		return "", err
	}
	return fmt.Sprint(value), nil
}

// HandOver makes the primary step down before it is stopped, as MongoDB's manual advises ("Perform
// Maintenance on Replica Set Members"), and returns when another is the primary. It does nothing if
// member i is not the primary or no other data node runs.
func (m *ReplicaSet) HandOver(ctx context.Context, i int) error {
	others := 0
	for _, node := range m.nodes.All() {
		if node.Number != i && !m.isArbiter(node) && !node.Left.Load() && node.Running() {
			others++
		}
	}
	primary, err := m.Primary(ctx)
	if err != nil || primary != i || others == 0 {
		return err
	}
	if err := m.StepDown(ctx); err != nil {
		return err
	}
	return server.Until(ctx, askPause, "another primary of "+m.options.ReplicaSet, func(ctx context.Context) error {
		now, err := m.Primary(ctx)
		if err == nil && now == i {
			err = errors.New("it is still the same")
		}
		return err
	})
}
