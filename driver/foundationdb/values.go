package foundationdb

import (
	"github.com/google/uuid"

	"assay/workload/bulkupdate"
	"assay/workload/candles"
	"assay/workload/keyvalue"
)

// recordKey is the key of a record, whose own key is an integer or a UUID.
func (l layout) recordKey(t keyvalue.Table, key keyvalue.Value) []byte {
	if id, ok := key.(uuid.UUID); ok {
		return l.uuidKey(t.Name, id)
	}
	n, _ := key.(int64)
	return l.key(t.Name, n)
}

// recordValue is the value of a record's key: its integers in their order, and
// then its texts.
func recordValue(r keyvalue.Record) []byte {
	var numbers []int64
	var texts []string
	for _, v := range r.Values {
		switch v := v.(type) {
		case int64:
			numbers = append(numbers, v)
		case string:
			texts = append(texts, v)
		}
	}
	return appendRecord(nil, numbers, texts...)
}

// record is the inverse of recordKey and recordValue.
func (l layout) record(t keyvalue.Table, key, value []byte) (r keyvalue.Record, err error) {
	if t.Key.Type == keyvalue.UUID {
		r.Key, err = l.uuid(t.Name, key)
	} else {
		var n int64
		err = l.ids(t.Name, key, &n)
		r.Key = n
	}
	if err != nil {
		return keyvalue.Record{}, err
	}
	var numbers []*int64
	var texts []*string
	for _, c := range t.Columns {
		if c.Type == keyvalue.Text {
			texts = append(texts, new(string))
		} else {
			numbers = append(numbers, new(int64))
		}
	}
	if err := readRecord(t.Name, value, numbers, texts...); err != nil {
		return keyvalue.Record{}, err
	}
	for _, c := range t.Columns {
		if c.Type == keyvalue.Text {
			r.Values, texts = append(r.Values, *texts[0]), texts[1:]
		} else {
			r.Values, numbers = append(r.Values, *numbers[0]), numbers[1:]
		}
	}
	return r, nil
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

// candleValue and candle are the value of a candle's key, which holds its id.
func candleValue(c *candles.Candle) []byte {
	var numbers []int64
	for _, n := range c.Numbers()[1:] {
		numbers = append(numbers, *n)
	}
	var texts []string
	for _, t := range c.Texts() {
		texts = append(texts, *t)
	}
	return appendRecord(make([]byte, 0, c.Bytes()+int64(1+4*len(texts))), numbers, texts...)
}

func (l layout) candle(key, value []byte, c *candles.Candle) error {
	if err := l.ids(tableCandle, key, &c.ID); err != nil {
		return err
	}
	return readRecord(tableCandle, value, c.Numbers()[1:], c.Texts()...)
}

// entries are the keys of a candle in its three indexes.
func (l layout) entries(c *candles.Candle) [3][]byte {
	return [3][]byte{
		l.key(tableMoment, c.Moment, c.ID),
		l.textKey(tableTicker, c.Ticker, c.Moment, c.ID),
		l.textKey(tableMarket, c.Market, c.Moment, c.ID),
	}
}
