package rawjson_test

import (
	"math"
	"strconv"
	"testing"

	"github.com/weir-mcp/weir/internal/rawjson"
)

// RFC 8785, sections 3.2.2 and 3.2.3.
func TestJCS(t *testing.T) {
	for _, test := range []struct{ doc, want string }{
		{`{
  "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
  "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
  "literals": [null, true, false]
}`, `{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`},
		{`{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}`,
			"{\"\\r\":2,\"1\":4,\"\u0080\":6,\"\u00f6\":7,\"\u20ac\":1,\"\U0001F600\":5,\"\ufb33\":3}"},
		{`[1e400]`, ``},
		{`-1e400`, ``},
		{`{"a":1,"a":2}`, ``},
		{`"\ud800"`, ``},
		{`{`, ``},
		{``, ``},
	} {
		if got := rawjson.JCS([]byte(test.doc)); string(got) != test.want {
			t.Errorf("JCS(%s) = %s, want %s", test.doc, got, test.want)
		}
	}
}

// RFC 8785, appendix B: numbers by their bits.
func TestJCSNumbers(t *testing.T) {
	for _, test := range []struct {
		bits uint64
		want string
	}{
		{0x0000000000000000, "0"},
		{0x8000000000000000, "0"},
		{0x0000000000000001, "5e-324"},
		{0x8000000000000001, "-5e-324"},
		{0x7fefffffffffffff, "1.7976931348623157e+308"},
		{0xffefffffffffffff, "-1.7976931348623157e+308"},
		{0x4340000000000000, "9007199254740992"},
		{0xc340000000000000, "-9007199254740992"},
		{0x4430000000000000, "295147905179352830000"},
		{0x44b52d02c7e14af5, "9.999999999999997e+22"},
		{0x44b52d02c7e14af6, "1e+23"},
		{0x44b52d02c7e14af7, "1.0000000000000001e+23"},
		{0x444b1ae4d6e2ef4e, "999999999999999700000"},
		{0x444b1ae4d6e2ef4f, "999999999999999900000"},
		{0x444b1ae4d6e2ef50, "1e+21"},
		{0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
		{0x3eb0c6f7a0b5ed8d, "0.000001"},
		{0x41b3de4355555553, "333333333.3333332"},
		{0x41b3de4355555554, "333333333.33333325"},
		{0x41b3de4355555555, "333333333.3333333"},
		{0x41b3de4355555556, "333333333.3333334"},
		{0x41b3de4355555557, "333333333.33333343"},
		{0xbecbf647612f3696, "-0.0000033333333333333333"},
		{0x43143ff3c1cb0959, "1424953923781206.2"},
	} {
		text := strconv.FormatFloat(math.Float64frombits(test.bits), 'g', -1, 64)
		if got := rawjson.JCS([]byte(text)); string(got) != test.want {
			t.Errorf("JCS of %016x, %s, is %s, want %s", test.bits, text, got, test.want)
		}
	}
}
