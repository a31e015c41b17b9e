package mongodb

import (
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"assay/workload/script"
)

// toBSON is a document of a script; an empty one for nil.
func toBSON(of script.Document) bson.D {
	document := make(bson.D, len(of))
	for i, f := range of {
		document[i] = bson.E{Key: f.Name, Value: valueToBSON(f.Value)}
	}
	return document
}

func valueToBSON(v any) any {
	switch v := v.(type) {
	case script.Document:
		return toBSON(v)
	case []any:
		all := make(bson.A, len(v))
		for i, element := range v {
			all[i] = valueToBSON(element)
		}
		return all
	}
	return v
}

// fromBSON is a document as a script has it. What a script has no type for is a string.
func fromBSON(raw bson.Raw) (script.Document, error) {
	elements, err := raw.Elements()
	if err != nil {
		return nil, fmt.Errorf("understand a document: %w", err)
	}
	document := make(script.Document, len(elements))
	for i, e := range elements {
		value, err := valueFromBSON(e.Value())
		if err != nil {
			return nil, err
		}
		document[i] = script.Field{Name: e.Key(), Value: value}
	}
	return document, nil
}

func valueFromBSON(v bson.RawValue) (any, error) {
	switch v.Type {
	case bson.TypeNull, bson.TypeUndefined:
		return nil, nil
	case bson.TypeInt32, bson.TypeInt64:
		return v.AsInt64(), nil
	case bson.TypeDouble:
		return v.Double(), nil
	case bson.TypeBoolean:
		return v.Boolean(), nil
	case bson.TypeString:
		return v.StringValue(), nil
	case bson.TypeEmbeddedDocument:
		return fromBSON(v.Document())
	case bson.TypeArray:
		values, err := v.Array().Values()
		if err != nil {
			return nil, fmt.Errorf("understand an array: %w", err)
		}
		all := make([]any, len(values))
		for i, element := range values {
			if all[i], err = valueFromBSON(element); err != nil {
				return nil, err
			}
		}
		return all, nil
	case bson.TypeObjectID:
		return v.ObjectID().Hex(), nil
	case bson.TypeDateTime:
		return v.Time().UTC().Format(time.RFC3339Nano), nil
	case bson.TypeDecimal128:
		return v.Decimal128().String(), nil
	}
	return v.String(), nil
}
