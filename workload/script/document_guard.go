package script

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"assay/store"
)

// onDocuments refuses a command on a collection that setup does not make or that is outside the
// schema.
func (s *statements) onDocuments(c *DocumentCommand) error {
	if err := s.collection(c.Collection); err != nil {
		return err
	}
	if err := s.onShards(c); err != nil {
		return err
	}
	return s.stages(c.Pipeline)
}

// onShards refuses what collections sharded by _id cannot do (MongoDB manual, "Sharded Cluster
// Restrictions", "db.collection.updateOne", "Unique Indexes"). MongoDB 7.1 and later can update
// one document by other fields. That is refused too: a script is to run on all versions.
func (s *statements) onShards(c *DocumentCommand) error {
	switch {
	case !s.sharded:
		return nil
	case c.Verb == CreateIndex && c.Unique && (len(c.Keys) != 1 || c.Keys[0].Name != "_id"):
		return fmt.Errorf("a collection sharded by _id has no unique index on other fields; leave unique out, or have %s not sharded, without shard=hashed", c.Collection)
	case (c.One || c.Upsert) && !namesID(c.Filter):
		return fmt.Errorf("in a collection sharded by _id one document is changed, and an upsert made, by its _id alone; add it to the filter %s, or run without shard=hashed", show(c.Filter))
	}
	return nil
}

// namesID reports whether a filter selects one value of _id.
func namesID(filter store.Document) bool {
	switch id := filter.Value("_id").(type) {
	case nil:
		return false
	case store.Document:
		return len(id) == 0 || !strings.HasPrefix(id[0].Name, "$")
	default:
		return true
	}
}

func (s *statements) collection(name string) error {
	database, own, qualified := strings.Cut(name, ".")
	switch {
	case qualified && !s.anySchema:
		return fmt.Errorf("%s lies outside of assay's database; leave %q out, or give --allow-foreign", name, database+".")
	case qualified && database != "" && own != "":
		return reserved(own)
	}
	if err := collectionName(name); err != nil {
		return err
	}
	if s.made != nil && !s.made[name] {
		return fmt.Errorf("setup makes no collection %s; write db.create(%q) there, or db.insert", name, name)
	}
	return nil
}

func collectionName(name string) error {
	plain := func(c rune) bool { return c == '_' || c == '-' || beginsName(c) || c >= '0' && c <= '9' }
	if name == "" || len(name) > 100 || strings.ContainsFunc(name, func(c rune) bool { return !plain(c) }) {
		return fmt.Errorf("%q is no name of a collection: letters, digits, _ and -", name)
	}
	return reserved(name)
}

// reserved refuses the names of the marker and the lease.
func reserved(name string) error {
	if strings.EqualFold(name, "assay_mark") || strings.EqualFold(name, "assay_lease") {
		return fmt.Errorf("%s is assay's own and cannot be used", name)
	}
	return nil
}

// stageNames are permitted stages. Others write, read no collections, or could name one
// unnoticed.
func stageNames() []string {
	return []string{"$addFields", "$bucket", "$bucketAuto", "$count", "$densify", "$facet", "$fill", "$geoNear", "$graphLookup", "$group",
		"$limit", "$lookup", "$match", "$project", "$redact", "$replaceRoot", "$replaceWith", "$sample", "$set", "$setWindowFields",
		"$skip", "$sort", "$sortByCount", "$unionWith", "$unset", "$unwind"}
}

// stages refuses stages that write or that name a forbidden collection.
func (s *statements) stages(pipeline []any) error {
	for _, of := range pipeline {
		stage, is := of.(store.Document)
		if !is || len(stage) != 1 {
			return errors.New("a stage of a pipeline is a dict with one key, such as {\"$match\": {...}}")
		}
		if err := s.stage(stage[0]); err != nil {
			return err
		}
	}
	return nil
}

func (s *statements) stage(of store.Field) error {
	switch of.Name {
	case "$out", "$merge":
		return errors.New(of.Name + " writes a collection, which an aggregation of a script cannot; use tx.insert, tx.update or tx.delete")
	case "$lookup", "$graphLookup":
		options, _ := of.Value.(store.Document)
		return s.lookup(of.Name, options.Value("from"), options.Value("pipeline"), of.Name == "$lookup")
	case "$unionWith":
		if options, is := of.Value.(store.Document); is {
			return s.lookup(of.Name, options.Value("coll"), options.Value("pipeline"), true)
		}
		return s.lookup(of.Name, of.Value, nil, false)
	case "$facet":
		facets, _ := of.Value.(store.Document)
		for _, f := range facets {
			pipeline, _ := f.Value.([]any)
			if err := s.stages(pipeline); err != nil {
				return err
			}
		}
		return nil
	}
	if !slices.Contains(stageNames(), of.Name) {
		return fmt.Errorf("an aggregation of a script cannot have the stage %s; it can have: %s", of.Name, strings.Join(stageNames(), ", "))
	}
	return nil
}

// lookup checks a stage that reads a collection with its own stages, if mayStandAlone without
// one.
func (s *statements) lookup(stage string, from, pipeline any, mayStandAlone bool) error {
	stages, _ := pipeline.([]any)
	switch name := from.(type) {
	case string:
		if strings.Contains(name, ".") && s.anySchema {
			return fmt.Errorf("%s reads collections of the same database alone, and %s is of another; read it by tx.find", stage, name)
		}
		if err := s.collection(name); err != nil {
			return err
		}
	case nil:
		if !mayStandAlone || stages == nil {
			return errors.New(stage + " names no collection")
		}
	default:
		if !s.anySchema {
			return fmt.Errorf("%s names a collection outside of assay's database, %s; give its name as a string, or --allow-foreign", stage, show(from))
		}
	}
	return s.stages(stages)
}

// inLanguage refuses a call for the other language; instead names the right calls.
func (s *statements) inLanguage(of Language, call, instead string) error {
	switch {
	case s.language == 0 || s.language == of:
		return nil
	case of == SQL:
		return fmt.Errorf("%s is for databases that speak SQL, and this one has documents; use %s", call, instead)
	default:
		return fmt.Errorf("%s is for databases of documents, and this one speaks SQL; use %s", call, instead)
	}
}
