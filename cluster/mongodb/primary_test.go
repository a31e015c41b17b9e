package mongodb

import (
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

func TestElected(t *testing.T) {
	term := func(n byte) bson.ObjectID { return bson.ObjectID{0x7f, 0xff, 0xff, 0xff, 11: n} }
	primary := func(i int, n byte) answer {
		return answer{number: i, host: string(rune('a' + i)), reply: helloReply{Primary: true, ElectionID: term(n), Leader: string(rune('a' + i))}}
	}
	follower := func(i int, leader string) answer {
		return answer{number: i, host: string(rune('a' + i)), reply: helloReply{Secondary: true, Leader: leader}}
	}
	silent := func(i int) answer {
		return answer{number: i, host: string(rune('a' + i)), err: errors.New("silent")}
	}
	for name, c := range map[string]struct {
		answers []answer
		members int
		want    int // -1: nobody yet
	}{
		"nobody has answered":                {nil, 3, -1},
		"it alone":                           {[]answer{primary(0, 1)}, 1, 0},
		"the others are not heard yet":       {[]answer{primary(0, 1)}, 3, -1},
		"one agrees, the third is silent":    {[]answer{primary(1, 2), follower(2, "b")}, 3, 1},
		"one of two":                         {[]answer{primary(1, 2)}, 2, -1},
		"the others know no primary":         {[]answer{follower(1, ""), follower(2, "")}, 3, -1},
		"the others name one that is silent": {[]answer{silent(0), follower(1, "a"), follower(2, "a")}, 3, -1},
		"deposed, and not heard of the rest": {[]answer{primary(0, 1), follower(2, "b")}, 3, -1},
		"deposed, still claiming":            {[]answer{primary(0, 1), primary(1, 2), follower(2, "b")}, 3, 1},
		"deposed, still named by one":        {[]answer{primary(0, 1), primary(1, 2), follower(2, "a")}, 3, 1},
		"just elected, all were heard":       {[]answer{silent(0), primary(1, 2), follower(2, "a")}, 3, 1},
	} {
		latest := map[int]answer{}
		for _, a := range c.answers {
			latest[a.number] = a
		}
		number, found := elected(latest, c.members)
		if found != (c.want >= 0) || found && number != c.want {
			t.Errorf("%s: %d, %v; want %d", name, number, found, c.want)
		}
	}
}
