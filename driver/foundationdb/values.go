package foundationdb

import (
	"github.com/google/uuid"

	"assay/workload/bulkupdate"
	"assay/workload/entity"
)

// entityValue and entityOf are the value of an entity's key, which holds its
// id.
func entityValue(e entity.Entity) []byte {
	return appendRecord(nil, []int64{int64(e.Age)}, e.Name, e.Description, e.Address, e.Phone, e.Email)
}

func entityOf(id uuid.UUID, value []byte) (entity.Entity, error) {
	e, age := entity.Entity{ID: id}, int64(0)
	err := readRecord(tableEntity, value, []*int64{&age}, &e.Name, &e.Description, &e.Address, &e.Phone, &e.Email)
	e.Age = int(age)
	return e, err
}

// documentValue and documentOf are the value of a document's key, which holds
// its owner and its id.
func documentValue(d bulkupdate.Document) []byte {
	flag := int64(0)
	if d.Flag {
		flag = 1
	}
	return appendRecord(nil, []int64{d.Number, flag, d.Generation}, d.Payload)
}

func (l layout) documentOf(key, value []byte) (d bulkupdate.Document, err error) {
	if err := l.ids(tableDocument, key, &d.User, &d.ID); err != nil {
		return d, err
	}
	var flag int64
	err = readRecord(tableDocument, value, []*int64{&d.Number, &flag, &d.Generation}, &d.Payload)
	d.Flag = flag != 0
	return d, err
}
