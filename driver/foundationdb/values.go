package foundationdb

import (
	"assay/workload/bulkupdate"
	"assay/workload/candles"
)

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
