package machine

import (
	"errors"
	"math"
	"net/netip"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// drop adds a table with the rule to the namespace atomically. Its chains see only the packets that
// the namespace itself receives or sends. They ignore the state of connections.
func (n *namespace) drop(table string, r Rule) error {
	return n.filter(func(c *nftables.Conn) error {
		// Unlike AddTable, CreateTable fails if the table exists.
		t := c.CreateTable(&nftables.Table{Family: nftables.TableFamilyINet, Name: table})
		for _, s := range sides(r.Direction) {
			chain := c.AddChain(&nftables.Chain{Table: t, Name: s.chain, Type: nftables.ChainTypeFilter,
				Hooknum: s.hook, Priority: nftables.ChainPriorityFilter})
			for _, match := range s.matches(r) {
				c.AddRule(&nftables.Rule{Table: t, Chain: chain, Exprs: match})
			}
		}
		return c.Flush()
	})
}

func (n *namespace) dropped(table string) (packets int64, err error) {
	err = n.filter(func(c *nftables.Conn) error {
		t := &nftables.Table{Family: nftables.TableFamilyINet, Name: table}
		for _, s := range sides(Both) {
			rules, err := c.GetRules(t, &nftables.Chain{Table: t, Name: s.chain})
			if err != nil && !errors.Is(err, unix.ENOENT) { // the other direction alone is dropped
				return err
			}
			for _, rule := range rules {
				for _, e := range rule.Exprs {
					if counter, is := e.(*expr.Counter); is {
						packets += int64(counter.Packets)
					}
				}
			}
		}
		return nil
	})
	return packets, err
}

func (n *namespace) undrop(table string) error {
	return n.filter(func(c *nftables.Conn) error {
		c.DelTable(&nftables.Table{Family: nftables.TableFamilyINet, Name: table})
		return c.Flush()
	})
}

func (n *namespace) filter(do func(*nftables.Conn) error) error {
	return n.inside(func() error {
		c, err := nftables.New(nftables.AsLasting())
		if err != nil {
			return err
		}
		return errors.Join(do(c), c.CloseLasting())
	})
}

type side struct {
	chain string
	hook  *nftables.ChainHook
	link  expr.MetaKey
	// peer is the offset of the other machine's address in an IPv4 header (RFC 791).
	peer uint32
}

func sides(d Direction) []side {
	in := side{chain: "input", hook: nftables.ChainHookInput, link: expr.MetaKeyIIFNAME, peer: 12}
	out := side{chain: "output", hook: nftables.ChainHookOutput, link: expr.MetaKeyOIFNAME, peer: 16}
	switch d {
	case In:
		return []side{in}
	case Out:
		return []side{out}
	}
	return []side{in, out}
}

// matches returns the expressions of one nftables rule for each peer, or of one rule for all
// packets. Each counts and drops.
func (s side) matches(r Rule) [][]expr.Any {
	begin := []expr.Any{
		&expr.Meta{Key: s.link, Register: 1},
		&expr.Cmp{Op: expr.CmpOpNeq, Register: 1, Data: interfaceName("lo")},
	}
	end := append(byChance(r.Share), &expr.Counter{}, &expr.Verdict{Kind: expr.VerdictDrop})
	if len(r.Peers) == 0 {
		return [][]expr.Any{append(begin, end...)}
	}
	var all [][]expr.Any
	for _, peer := range r.Peers {
		one := append(append([]expr.Any(nil), begin...), s.concerns(peer)...)
		all = append(all, append(one, end...))
	}
	return all
}

func (s side) concerns(peer netip.Addr) []expr.Any {
	address := peer.Unmap().As4()
	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeyNFPROTO, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: []byte{unix.NFPROTO_IPV4}},
		&expr.Payload{Base: expr.PayloadBaseNetworkHeader, DestRegister: 1, Offset: s.peer, Len: 4},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: address[:]},
	}
}

// byChance matches packets for which a random number is in the lower share of its range.
func byChance(share float64) []expr.Any {
	const modulus = 1_000_000_000
	if share >= 1 {
		return nil
	}
	bound := uint32(max(math.Round(share*modulus), 1))
	return []expr.Any{
		&expr.Numgen{Register: 1, Modulus: modulus, Type: unix.NFT_NG_RANDOM},
		// The kernel compares registers byte by byte, so the highest byte must be first.
		&expr.Byteorder{SourceRegister: 1, DestRegister: 1, Op: expr.ByteorderHton, Len: 4, Size: 4},
		&expr.Cmp{Op: expr.CmpOpLt, Register: 1, Data: binaryutil.BigEndian.PutUint32(bound)},
	}
}

func interfaceName(name string) []byte {
	held := make([]byte, unix.IFNAMSIZ)
	copy(held, name)
	return held
}
