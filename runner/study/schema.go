package study

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema is the JSON Schema (draft 2020-12) of a study's file, for editors. The keys of each
// workload are its flags.
func Schema(v Vocabulary) *jsonschema.Schema {
	common := map[string]*jsonschema.Schema{}
	experiment := &jsonschema.Schema{Type: "object", Required: []string{keyWorkload},
		Properties: map[string]*jsonschema.Schema{keyWorkload: {Description: "the workload of all runs"}}}
	defs := map[string]*jsonschema.Schema{"experiment": experiment}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		experiment.Properties[keyWorkload].Enum = append(experiment.Properties[keyWorkload].Enum, any(name))
		defs[name] = experimentOf(name, v[name], defs)
		for flag := range defs[name+settingsOf].Properties {
			common[flag] = &jsonschema.Schema{Ref: "#/$defs/" + name + settingsOf + "/properties/" + flag}
		}
		is := any(name)
		experiment.AllOf = append(experiment.AllOf, &jsonschema.Schema{
			If:   &jsonschema.Schema{Properties: map[string]*jsonschema.Schema{keyWorkload: {Const: &is}}, Required: []string{keyWorkload}},
			Then: &jsonschema.Schema{Ref: "#/$defs/" + name},
		})
	}
	defs["settings"] = open(common)
	root := schemaOf((&reader{}).fields(&Study{}, &parts{}), keyExperiments)
	root.Schema, root.Title, root.Defs = "https://json-schema.org/draft/2020-12/schema", "A study of assay", defs
	return root
}

const settingsOf = "-settings"

func experimentOf(workload string, keys []Key, defs map[string]*jsonschema.Schema) *jsonschema.Schema {
	own := workload + settingsOf
	defs[own] = open(flagSchemas(keys))
	properties := func() map[string]*jsonschema.Schema {
		axes := &jsonschema.Schema{Type: "object", Description: "what varies: flags with lists of values, or a name with alternatives that set several flags each",
			AdditionalProperties: &jsonschema.Schema{Type: "object", AdditionalProperties: &jsonschema.Schema{Ref: "#/$defs/" + own}},
			Properties:           map[string]*jsonschema.Schema{}, PatternProperties: parametersAs(&jsonschema.Schema{Type: "array", Items: value()})}
		all := map[string]*jsonschema.Schema{keyMatrix: axes,
			keyExclude: {Type: "array", Description: "combinations that are left out: axes with one value or several, and because, which is shown in their place",
				Items: &jsonschema.Schema{Type: "object", AdditionalProperties: oneOrSeveral(value)}}}
		for name := range defs[own].Properties {
			axes.Properties[name] = &jsonschema.Schema{Type: "array", Items: value()}
			all[name] = &jsonschema.Schema{Ref: "#/$defs/" + own + "/properties/" + name}
		}
		return all
	}
	all := properties()
	ofSize := properties()
	ofSize[keyReported] = reportedSchema()
	all[keyWorkload] = &jsonschema.Schema{Type: "string"}
	maps.Copy(all, schemasOf((&draft{}).prose()))
	all[keySizes] = &jsonschema.Schema{Type: "object", Description: "what differs in each size", AdditionalProperties: open(ofSize)}
	return open(all)
}

func reportedSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "array", Description: "what the source says: values of the axes, figures in a second, ms, bytes or %, and a remark",
		Items: &jsonschema.Schema{Type: "object", AdditionalProperties: value()}}
}

func value() *jsonschema.Schema {
	return &jsonschema.Schema{Types: []string{"string", "number", "boolean"}}
}

func closed(properties map[string]*jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", Properties: properties, AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}}
}

// open allows, beside these properties, only parameters of servers.
func open(properties map[string]*jsonschema.Schema) *jsonschema.Schema {
	s := closed(properties)
	s.PatternProperties = parametersAs(value())
	return s
}

func parametersAs(s *jsonschema.Schema) map[string]*jsonschema.Schema {
	s.Description = "a parameter of the servers of the cluster, by its name"
	return map[string]*jsonschema.Schema{"^" + regexp.QuoteMeta(parameterPrefix): s}
}

func text(description string) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Description: description}
}

func texts(description string) *jsonschema.Schema {
	s := oneOrSeveral(func() *jsonschema.Schema { return &jsonschema.Schema{Type: "string"} })
	s.Description = description
	return s
}

func oneOrSeveral(one func() *jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{one(), {Type: "array", Items: one()}}}
}

func flagSchemas(keys []Key) map[string]*jsonschema.Schema {
	all := map[string]*jsonschema.Schema{
		"cpu":       {Type: "number", Description: "processors of each node of the cluster"},
		"memory":    text("memory of each node of the cluster, such as 400MiB"),
		"disk":      text("what each node of the cluster may write to its disk in a second, such as 10MiB"),
		"fs":        text("the file system of a disk of its own for each node of the cluster: ext4 or xfs"),
		"bandwidth": text("what the link of each node of the cluster passes each way in a second, such as 1Gbit"),
	}
	for _, k := range keys {
		s := &jsonschema.Schema{Types: []string{"string", "number"}} // numbers and texts are alike in YAML
		switch {
		case k.Type == "bool":
			s = &jsonschema.Schema{Type: "boolean"}
		case k.Type == "stringArray":
			s = texts("")
		case strings.HasPrefix(k.Type, "int") || strings.HasPrefix(k.Type, "uint"):
			s = &jsonschema.Schema{Type: "integer"}
		case k.Type == "float64":
			s = &jsonschema.Schema{Type: "number"}
		}
		s.Description = k.Usage
		all[k.Name] = s
	}
	return all
}
