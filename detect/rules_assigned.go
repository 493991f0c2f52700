package detect

import (
	"bytes"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/pattern"
)

// named returns a rule of a value that only the name tells to which it is assigned.
func named(kind Kind, name, pattern, source string, names ...string) Rule {
	return Rule{Kind: kind, Name: name, Pattern: pattern, Source: source, Names: names, Confidence: High}
}

// assignedRules are of values that only their names tell, and of those in URLs.
func assignedRules() []Rule {
	return []Rule{
		named("aws-secret-access-key", "AWS secret access key", `[A-Za-z0-9/+]{40}`,
			"https://docs.aws.amazon.com/cli/v1/userguide/cli-configure-envvars.html", "aws_secret_access_key", "secret_access_key", "aws_secret_key"),
		named("aws-session-token", "AWS session token", `[A-Za-z0-9/+]{100,}={0,2}`,
			"https://docs.aws.amazon.com/cli/v1/userguide/cli-configure-envvars.html", "aws_session_token", "session_token"),
		named("cloudflare-token", "Cloudflare API token", `[A-Za-z0-9_-]{40}`,
			"https://developers.cloudflare.com/workers/wrangler/system-environment-variables/", "cloudflare_api_token", "cf_api_token"),
		named("cloudflare-global-key", "Cloudflare global API key", `[a-f0-9]{37}`,
			"https://developers.cloudflare.com/workers/wrangler/system-environment-variables/", "cloudflare_api_key", "x_auth_key"),
		named("datadog-key", "Datadog API or application key", `(?:[a-f0-9]{40}|[a-f0-9]{32})`,
			"https://docs.datadoghq.com/account_management/api-app-keys/",
			"dd_api_key", "dd_app_key", "datadog_api_key", "datadog_app_key", "dd_application_key"),
		named("twilio-auth-token", "Twilio auth token", `[a-f0-9]{32}`, "https://www.twilio.com/docs/iam/access-tokens", "twilio_auth_token"),
		named("fastly-token", "Fastly API token", `[A-Za-z0-9_-]{32}`,
			"https://www.fastly.com/documentation/reference/cli/", "fastly_api_token", "fastly_key"),
		named("cohere-key", "Cohere API key", `[A-Za-z0-9]{40}`, "https://docs.cohere.com/reference/about", "co_api_key", "cohere_api_key"),
		named("mistral-key", "Mistral API key", `[A-Za-z0-9]{32}`, "https://docs.mistral.ai/getting-started/quickstart/", "mistral_api_key"),
		named("deepseek-key", "DeepSeek API key", `sk-[a-f0-9]{32}`, "https://api-docs.deepseek.com/", "deepseek_api_key"),
		named("together-key", "Together AI key", `[a-f0-9]{64}`, "https://docs.together.ai/docs/quickstart", "together_api_key"),
		named("discord-bot-token", "Discord bot token", `[A-Za-z0-9_-]{23,28}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}`,
			"https://docs.discord.com/developers/reference", "discord_token", "discord_bot_token", "bot_token").checkedBy(discordToken),
		named("vercel-token", "Vercel token", `[A-Za-z0-9]{24}`, "https://vercel.com/docs/cli/global-options", "vercel_token"),
		named("netlify-token", "Netlify token", `[A-Za-z0-9_-]{40,46}`, "https://docs.netlify.com/cli/get-started/", "netlify_auth_token"),
		named("algolia-key", "Algolia API key", `[a-f0-9]{32}`,
			"https://www.algolia.com/doc/guides/security/api-keys/", "algolia_api_key", "algolia_admin_key"),
		named("codecov-token", "Codecov token", `[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}`,
			"https://docs.codecov.com/docs/codecov-tokens", "codecov_token"),
		named("heroku-uuid-key", "Heroku API key", `[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}`,
			"https://devcenter.heroku.com/articles/authentication", "heroku_api_key"),
		named("snyk-uuid-token", "Snyk API token", `[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}`,
			"https://docs.snyk.io/snyk-api/authentication-for-api", "snyk_token"),
		named("elevenlabs-key", "ElevenLabs API key", `(?:sk_[a-f0-9]{48}|[a-f0-9]{32})`, "https://elevenlabs.io/docs/api-reference/authentication",
			"elevenlabs_api_key", "xi_api_key", "eleven_api_key"),
		named("circleci-legacy-token", "CircleCI API token", `[a-f0-9]{40}`,
			"https://circleci.com/docs/managing-api-tokens/", "circleci_token", "circle_token"),
		named("travis-token", "Travis CI token", `[A-Za-z0-9_-]{22}`,
			"https://docs.travis-ci.com/user/triggering-builds/", "travis_token", "travis_api_token"),
		named("okta-token", "Okta API token", `00[A-Za-z0-9_-]{40}`, "https://developer.okta.com/docs/guides/create-an-api-token/main/",
			"okta_api_token", "okta_token", "ssws"),
		named("zendesk-token", "Zendesk API token", `[A-Za-z0-9]{40}`, "https://developer.zendesk.com/api-reference/introduction/security-and-auth/",
			"zendesk_api_token", "zendesk_token"),
		named("pagerduty-key", "PagerDuty API key", `[A-Za-z0-9+_-]{20}`, "https://support.pagerduty.com/main/docs/api-access-keys",
			"pagerduty_token", "pagerduty_api_key"),
		named("pinecone-uuid-key", "Pinecone API key", `[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}`,
			"https://docs.pinecone.io/guides/projects/manage-api-keys", "pinecone_api_key"),
		{Kind: "connection-string", Name: "password in the URL of a database or queue", Source: "https://www.rfc-editor.org/rfc/rfc3986#section-3.2.1",
			anchors: []string{"://"}, find: findConnection},
		{Kind: "url-credentials", Name: "password in a URL", Source: "https://www.rfc-editor.org/rfc/rfc3986#section-3.2.1",
			anchors: []string{"://"}, find: findURL},
		{Kind: "assigned-secret", Name: "value that is assigned to the name of a secret", Source: "docs/detection.md",
			Names: []string{"password", "passwd", "passphrase", "secret", "secret_key", "client_secret", "api_key", "access_key",
				"access_token", "auth_token", "token",
				"private_key", "credential", "credentials", "pwd"}},
	}
}

// spellings returns how a name is written: its words joined by underscores, by hyphens, and without anything; names of
// personal data by spaces, too.
func spellings(name string, c Class) []string {
	all := []string{name, strings.ReplaceAll(name, "_", "-"), strings.ReplaceAll(name, "_", "")}
	if c == Personal {
		all = append(all, strings.ReplaceAll(name, "_", " "))
		for _, spelling := range all { // beyond ASCII, the automaton tells the cases apart
			all = append(all, string(lowered([]byte(strings.ToUpper(spelling)))))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// assigned looks at the value that is assigned to a name which stands from start to end.
func assigned(w *scan, v *view, r *Rule, start, end int) {
	generic := r.Pattern == ""
	if !generic && start > 0 && wordByte[v.text[start-1]] && lower(v.text[start-1]) == v.text[start-1] && lower(v.text[start]) == v.text[start] {
		return // the end of another word
	}
	var from int
	var ok bool
	if r.Class != Personal {
		from, ok = assignment(v.text, start, end)
	} else if start == 0 || !wordByte[v.text[start-1]] || !wordByte[v.text[start]] {
		from, ok = mentioned(v.text, end)
	}
	if !ok {
		return
	}
	if generic {
		n := w.run(v, 0, from)
		m := match{start: start, end: from + n, secret: from, last: from + n}
		if n >= 8 && n <= 200 && w.affords(n) && secretive(v.text[from:from+n]) {
			w.judge(v, r, m)
		}
		return
	}
	for _, number := range r.shapes {
		w.affords(matchWork)
		s := &w.s.shapes[number]
		at, ok := from, true
		for i := range s.parts {
			if at, ok = w.after(v, &s.parts[i], at); !ok {
				break
			}
		}
		if ok && w.bounded(v, s, from, at) {
			w.judge(v, r, match{start: start, end: at, secret: from, last: at})
			return
		}
	}
}

// valueSet are the bytes of values of any kind.
func valueSet() set {
	s := setOf("!~")
	for _, c := range "\"'`<>\\,;()[]{}" {
		s[c] = false
	}
	return s
}

// assignment returns where the value begins that is assigned to the name from start to end: in source code,
// configuration, JSON, XML, headers and command lines.
func assignment(text []byte, start, end int) (from int, ok bool) {
	i := skip(text, end, 3, numbering)
	quoted := skip(text, i, 3, closing)
	j := skip(text, quoted, 4, blanks)
	switch rest := text[j:min(len(text), j+2)]; {
	case len(rest) == 0:
		return 0, false
	case string(rest) == "==" || string(rest) == "::":
		return 0, false
	case string(rest) == ":=" || string(rest) == "=>":
		j += 2
	case rest[0] == '=' || rest[0] == ':':
		j++
	case rest[0] == '>' && j == i:
		j++
	case rest[0] == ',' && quoted > i:
		j++
	case j > quoted && start > 1 && string(text[start-2:start]) == "--":
	default:
		return 0, false
	}
	j = skip(text, j, 4, blanks)
	return skip(text, j, 4, opening), true
}

// mixed reports whether a value has both letters and digits.
func mixed(value []byte) bool {
	letter, digit := false, false
	for _, c := range value {
		digit = digit || '0' <= c && c <= '9'
		letter = letter || 'a' <= lower(c) && lower(c) <= 'z'
	}
	return letter && digit
}

// secretive reports whether a value that is assigned to the name of a secret may be one, rather than a name, a path, a
// call or a template.
func secretive(value []byte) bool {
	if bytes.ContainsAny(value, "/$%*") && !bytes.HasSuffix(value, []byte("=")) || bytes.Contains(value, []byte("...")) {
		return false
	}
	return mixed(value) && Entropy(value) >= 3
}

// serious reports whether a password is more than an example.
func serious(password []byte) bool {
	if len(password) < 9 || !mixed(password) || bytes.ContainsAny(password, "${}<>[]*()") || placeholder(password) {
		return false
	}
	folded := string(bytes.ToLower(password))
	for _, word := range []string{"pass", "pwd", "secret", "test", "admin",
		"user", "token", "hunter2", "root", "postgres", "mysql", "guest", "redis", "foo", "bar", "abc", "qwerty"} {
		if bytes.Contains([]byte(folded), []byte(word)) && len(password) < 16 {
			return false
		}
	}
	return Entropy(password) >= 2.5
}

// isDatabase reports whether a scheme is of a database or a queue.
func isDatabase(scheme []byte) bool {
	var folded [len("mongodb+srv")]byte
	if len(scheme) > len(folded) {
		return false
	}
	for i, c := range scheme {
		folded[i] = lower(c)
	}
	switch string(folded[:len(scheme)]) {
	case "postgres", "postgresql", "mysql", "mariadb", "mongodb", "mongodb+srv", "redis", "rediss", "amqp", "amqps", "mssql", "sqlserver", "clickhouse",
		"cockroachdb", "nats", "kafka", "oracle":
		return true
	}
	return false
}

func findConnection(w *scan, v *view, start, end int) (match, bool) {
	return findPassword(v, start, end, true)
}

func findURL(w *scan, v *view, start, end int) (match, bool) {
	return findPassword(v, start, end, false)
}

// outsideUser are the bytes that end the part of a URL in which a name and a password may stand.
var outsideUser = func() (s set) {
	for _, c := range "/?#@ \t\r\n\"'<>\\" {
		s[c] = true
	}
	return s
}()

// replaced is a value that Redacted has replaced.
var replaced = pattern.New(`^\[redacted:[a-z0-9-]+\]$`)

// findPassword finds the password in the URL whose "://" stands from start to end.
func findPassword(v *view, start, end int, database bool) (m match, ok bool) {
	colon, at := 0, end
	for ; at < len(v.text) && at-end < 256 && !outsideUser[v.text[at]]; at++ {
		if v.text[at] == ':' && colon == 0 {
			colon = at
		}
	}
	if colon == 0 || at-colon < 4 || at == len(v.text) || v.text[at] != '@' || replaced().Match(v.text[colon+1:at]) {
		return m, false
	}
	from := start
	for from > 0 && start-from < 16 && (wordByte[v.text[from-1]] || v.text[from-1] == '+') {
		from--
	}
	if scheme := v.text[from:start]; len(scheme) < 2 || isDatabase(scheme) != database {
		return m, false
	}
	m = match{start: from, end: at, secret: colon + 1, last: at, confidence: High}
	if !serious(v.text[m.secret:m.last]) || local(v.text[at+1:]) || colon == end && !database {
		m.confidence = Low
	}
	return m, true
}

// local reports whether a host is of this machine or of an example.
func local(rest []byte) bool {
	host := rest[:min(len(rest), 64)]
	if n := bytes.IndexAny(host, "/?#,; \t\r\n\"'"); n >= 0 {
		host = host[:n]
	}
	folded := bytes.ToLower(host)
	for _, name := range []string{"localhost", "127.", "[::1]", "0.0.0.0", "example", "host", "server"} {
		if bytes.HasPrefix(folded, []byte(name)) {
			return true
		}
	}
	return bytes.Contains(folded, []byte("example."))
}
