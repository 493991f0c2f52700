package console

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"
)

const (
	linkLife  = 15 * time.Minute // of a login link that is not used
	loginLife = 12 * time.Hour
	maxLogins = 100
)

// A gate lets logged-in browsers through.
type gate struct {
	*writer
	address string // host:port of the console
	now     func() time.Time
	secret  []byte // of form tokens

	mu     sync.Mutex
	once   string               // the token of the login link; "" once it was used
	until  time.Time            // when that expires
	logins map[string]time.Time // cookies and when they end
}

func newGate(w *writer, address string, now func() time.Time) *gate {
	g := &gate{writer: w, address: address, now: now, secret: make([]byte, 32), once: rand.Text(), logins: map[string]time.Time{}}
	g.until = now().Add(linkLife)
	rand.Read(g.secret)
	return g
}

// loginLink returns the address that logs a browser in, once, within 15 minutes. After that, and once it was used, it
// is "".
func (g *gate) loginLink() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.linked() {
		return ""
	}
	return "http://" + g.address + "/login?once=" + url.QueryEscape(g.once)
}

// linked reports whether the login link works. The lock must be held.
func (g *gate) linked() bool { return g.once != "" && g.now().Before(g.until) }

// cookieName tells consoles on one machine apart: cookies know no ports.
func (g *gate) cookieName() string {
	_, port, _ := net.SplitHostPort(g.address)
	return "weir-console-" + port
}

// login takes the token of the link and gives a cookie for it.
func (g *gate) login(w http.ResponseWriter, r *http.Request) {
	given := r.URL.Query().Get("once")
	g.mu.Lock()
	ok := g.linked() && subtle.ConstantTimeCompare([]byte(given), []byte(g.once)) == 1
	cookie := rand.Text()
	if ok {
		g.once = ""
		g.forget()
		g.logins[cookie] = g.now().Add(loginLife)
	}
	g.mu.Unlock()
	if !ok {
		g.refuse(w, http.StatusForbidden, "This link does not work, or not any more. Start the console again for a new one.")
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: g.cookieName(), Value: cookie, Path: "/", MaxAge: int(loginLife.Seconds()), HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// forget drops logins that have ended, and the oldest if there are too many. The lock must be held.
func (g *gate) forget() {
	now := g.now()
	for cookie, until := range g.logins {
		if !now.Before(until) || len(g.logins) >= maxLogins {
			delete(g.logins, cookie)
		}
	}
}

// signedIn lets only requests with the cookie of a login through, and of those that change something only such with the
// token of a form.
func (g *gate) signedIn(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cookie, err := r.Cookie(g.cookieName())
		if err != nil || !g.isLogin(cookie.Value) {
			g.refuse(w, http.StatusUnauthorized, "Not signed in. Open the link that weir has printed, or the one in the file that its log names.")
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			if !hmac.Equal([]byte(r.PostFormValue("form")), []byte(g.formToken(cookie.Value))) {
				g.refuse(w, http.StatusForbidden, "This form is not of this console. Go back and load the page again.")
				return
			}
		}
		h.ServeHTTP(w, r)
	})
}

func (g *gate) isLogin(cookie string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	until, ok := g.logins[cookie]
	return ok && g.now().Before(until)
}

// formToken returns the token of the forms of a login.
func (g *gate) formToken(cookie string) string {
	mac := hmac.New(sha256.New, g.secret)
	mac.Write([]byte(cookie))
	return hex.EncodeToString(mac.Sum(nil))
}

// ownHost refuses requests for other names than the console's own.
func (g *gate) ownHost(h http.Handler) http.Handler {
	own := []string{g.address}
	host, port, _ := net.SplitHostPort(g.address)
	if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() {
		own = append(own, "localhost:"+port)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !slices.Contains(own, r.Host) {
			http.Error(w, "this is not the host that you asked for", http.StatusMisdirectedRequest)
			return
		}
		h.ServeHTTP(w, r)
	})
}
