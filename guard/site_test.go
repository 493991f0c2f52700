package guard

import "testing"

func TestSiteOf(t *testing.T) {
	for text, want := range map[string]string{
		"https://Shop.Example:8080/x": "shop.example", "shop.example/a@b.example": "shop.example", "ben@shop.example": "",
		"https://shop.example@evil.example/": "evil.example", `https://evil.example\@shop.example/`: "", "//shop.example/": "",
		"shop.example//evil.example": "shop.example", "http:shop.example": "", "shop.example:80/x": "", "shop.example#@evil.example": "",
		"https://shop.example\t.evil.example/": "", "10.1.2.3/x": "", "": "",
	} {
		if got := siteOf(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestLeadsOut(t *testing.T) {
	for text, want := range map[string]bool{
		"//shop.example": true, `https://a\b`: true, "shop.example:80/x": true, "10.1.2.3/x": true, "10.1.2.3:80": true, "[::1]/x": true,
		"notes/today.txt": false, "/home/ben/a.txt": false, "C:\\a.txt": false, "a: b": false, "Ben": false, "": false,
	} {
		if got := leadsOut(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
