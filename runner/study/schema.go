package study

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema describes a study's file to editors and other programs, as a JSON Schema
// of draft 2020-12: the keys of each workload are its flags.
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
	settings := "#/$defs/settings"
	root := closed(map[string]*jsonschema.Schema{
		keyTitle:       text("what the report is called"),
		keyQuestion:    text("what the study wants to know; Markdown"),
		keyDescription: text("what all its experiments share; Markdown"),
		keyQuestions:   {Type: "array", Description: "the parts of the question, each with what its runs are asked; assay writes the answers", Items: questionSchema()},
		keyDefaults:    {Ref: settings, Description: "flags of all experiments whose workload has them"},
		keySizes:       {Type: "object", Description: "flags of all experiments in each size, on top of the defaults; " + DefaultSize + " is the size unless another is asked for", AdditionalProperties: &jsonschema.Schema{Ref: settings}},
		keyMatrix: {Type: "object", Description: "what varies in all experiments, each of which may add settings to the alternatives",
			AdditionalProperties: &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
				{Type: "object", AdditionalProperties: &jsonschema.Schema{Ref: settings}}, {Type: "array", Items: value()}}}},
		keyOverview: overviewSchema(),
		keyExperiments: {Type: "object", Description: "each a series of runs of one workload", PropertyNames: &jsonschema.Schema{Pattern: names().String()},
			AdditionalProperties: &jsonschema.Schema{Ref: "#/$defs/experiment"}},
	})
	root.Schema, root.Title, root.Defs = "https://json-schema.org/draft/2020-12/schema", "A study of assay", defs
	root.Required = []string{keyExperiments}
	return root
}

// settingsOf ends the name of the definition of a workload's flags.
const settingsOf = "-settings"

// experimentOf describes the experiments of one workload, and enters the definition
// of its flags.
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
	maps.Copy(all, proseSchemas())
	all[keySizes] = &jsonschema.Schema{Type: "object", Description: "what differs in each size", AdditionalProperties: open(ofSize)}
	return open(all)
}

// proseSchemas describe the keys of an experiment that are no flags.
func proseSchemas() map[string]*jsonschema.Schema {
	words := func(description string) *jsonschema.Schema {
		s := oneOrSeveral(func() *jsonschema.Schema { return &jsonschema.Schema{Type: "string"} })
		s.Description = description
		return s
	}
	return map[string]*jsonschema.Schema{
		keyTitle:       text("what heads the experiment, in place of its name"),
		keyDescription: text("what the experiment is for, before its figures; Markdown"),
		keyDiscussion:  text("what its figures say, after them; Markdown"),
		keyColumns:     words("the columns of its table: metrics, and nodes, vcpu, ram, disk, clients and the like"),
		keySort:        text("the column by which the table is sorted"),
		keyCharts:      words("what is drawn: a metric, METRIC and METRIC, METRIC by AXIS, throughput over time, response time by percentile, METRIC over rounds"),
		keyGroup:       words("axes of the matrix under whose values the rows of the table and bars stand"),
		keySource:      text("where the reported figures are from"),
		keyReported:    reportedSchema(),
	}
}

func overviewSchema() *jsonschema.Schema {
	column := closed(map[string]*jsonschema.Schema{
		keyTitle: text("what heads the column, in place of the experiment's title"),
		keyShow:  text("verdict, anomalies, durability, power-cut loss, or a column of the experiment's table; verdict if not given"),
		keyOf:    text("the experiment"), keyRatio: text("the row to whose figure all are ratios"),
		keyWhere: oneOrSeveral(func() *jsonschema.Schema { return &jsonschema.Schema{Type: "string"} }),
	})
	column.Required = []string{keyOf}
	table := closed(map[string]*jsonschema.Schema{
		keyTitle: text("what heads the table"), keyRows: text("the axis of all its experiments whose values are its rows"),
		keyColumns: {Type: "array", Description: "what is shown, each of one experiment", Items: column},
	})
	table.Required = []string{keyTitle, keyRows, keyColumns}
	return &jsonschema.Schema{Type: "array", Description: "tables over several experiments, before these", Items: table}
}

func questionSchema() *jsonschema.Schema {
	several := func(description string) *jsonschema.Schema {
		s := oneOrSeveral(func() *jsonschema.Schema { return &jsonschema.Schema{Type: "string"} })
		s.Description = description
		return s
	}
	s := closed(map[string]*jsonschema.Schema{
		keyAsk: text("the question"), keyWith: text("what the answer calls the first side, such as: twice the processors"),
		keyCompare: several("SIDE against SIDE in FIGURE"), keyExperiment: text("whose figures are compared"),
		keySize:  text("the only size in which it is asked"),
		keyFound: several("experiments that are asked whether anything wrong was found in their runs"),
	})
	s.Required = []string{keyAsk}
	return s
}

func reportedSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "array", Description: "what the source says: values of the axes, figures in a second, ms, bytes or %, and a remark",
		Items: &jsonschema.Schema{Type: "object", AdditionalProperties: value()}}
}

// value describes one value of any flag.
func value() *jsonschema.Schema {
	return &jsonschema.Schema{Types: []string{"string", "number", "boolean"}}
}

func closed(properties map[string]*jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", Properties: properties, AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}}
}

// open is closed but for the parameters of servers, which are of this form.
func open(properties map[string]*jsonschema.Schema) *jsonschema.Schema {
	s := closed(properties)
	s.PatternProperties = parametersAs(value())
	return s
}

// parametersAs describes each key that is a parameter of servers.
func parametersAs(s *jsonschema.Schema) map[string]*jsonschema.Schema {
	s.Description = "a parameter of the servers of the cluster, by its name"
	return map[string]*jsonschema.Schema{"^" + regexp.QuoteMeta(parameterPrefix): s}
}

func text(description string) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Description: description}
}

func oneOrSeveral(one func() *jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{one(), {Type: "array", Items: one()}}}
}

// flagSchemas describes the values of flags and limits.
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
			s = oneOrSeveral(func() *jsonschema.Schema { return &jsonschema.Schema{Type: "string"} })
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
