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
	"time"
)

const (
	linkLife  = 15 * time.Minute // of a login link that is not used
	loginLife = 12 * time.Hour
	maxLogins = 100
)

// LoginLink returns the address that logs a browser in, once, within 15 minutes of New. After that, and once it was used, it is "".
func (c *Console) LoginLink() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.linked() {
		return ""
	}
	return "http://" + c.opts.Address + "/login?once=" + url.QueryEscape(c.once)
}

// linked reports whether the login link works. The lock must be held.
func (c *Console) linked() bool { return c.once != "" && c.opts.Now().Before(c.until) }

// cookieName tells consoles on one machine apart: cookies know no ports.
func (c *Console) cookieName() string {
	_, port, _ := net.SplitHostPort(c.opts.Address)
	return "weir-console-" + port
}

// login takes the token of the link and gives a cookie for it.
func (c *Console) login(w http.ResponseWriter, r *http.Request) {
	given := r.URL.Query().Get("once")
	c.mu.Lock()
	ok := c.linked() && subtle.ConstantTimeCompare([]byte(given), []byte(c.once)) == 1
	cookie := rand.Text()
	if ok {
		c.once = ""
		c.forget()
		c.logins[cookie] = c.opts.Now().Add(loginLife)
	}
	c.mu.Unlock()
	if !ok {
		c.refuse(w, http.StatusForbidden, "This link does not work, or not any more. Start the console again for a new one.")
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: c.cookieName(), Value: cookie, Path: "/", MaxAge: int(loginLife.Seconds()), HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// forget drops logins that have ended, and the oldest if there are too many. The lock must be held.
func (c *Console) forget() {
	now := c.opts.Now()
	for cookie, until := range c.logins {
		if !now.Before(until) || len(c.logins) >= maxLogins {
			delete(c.logins, cookie)
		}
	}
}

// signedIn lets only requests with the cookie of a login through, and of those that change something only such with the token
// of a form.
func (c *Console) signedIn(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cookie, err := r.Cookie(c.cookieName())
		if err != nil || !c.isLogin(cookie.Value) {
			c.refuse(w, http.StatusUnauthorized, "Not signed in. Open the link that weir has printed.")
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			if !hmac.Equal([]byte(r.PostFormValue("form")), []byte(c.formToken(cookie.Value))) {
				c.refuse(w, http.StatusForbidden, "This form is not of this console. Go back and load the page again.")
				return
			}
		}
		h.ServeHTTP(w, r)
	})
}

func (c *Console) isLogin(cookie string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	until, ok := c.logins[cookie]
	return ok && c.opts.Now().Before(until)
}

// formToken returns the token of the forms of a login.
func (c *Console) formToken(cookie string) string {
	mac := hmac.New(sha256.New, c.secret)
	mac.Write([]byte(cookie))
	return hex.EncodeToString(mac.Sum(nil))
}

// ownHost refuses requests for other names than the console's own.
func (c *Console) ownHost(h http.Handler) http.Handler {
	own := []string{c.opts.Address}
	host, port, _ := net.SplitHostPort(c.opts.Address)
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
