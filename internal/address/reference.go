package address

import (
	"slices"
	"strings"
)

// references are sites of documentation and registries of packages, each with the beginnings of the paths below which
// its pages are. Each site belongs to one publisher, who alone learns who reads which page: no author of a page is
// shown its readers, no counter of views or downloads is public there, no path leads on to another site. That holds for
// a program that loads the page alone: in a browser, pictures and scripts in it may tell others, and authors of
// packages write both at some of these sites (docs.rs, hexdocs.pm). So no overlay of a tool with a browser may go by
// them. Sites on which anybody may have pages of their own are missing (github.com, *.github.io, *.readthedocs.io), and
// so are downloads.
var references = map[string][]string{
	// languages
	"go.dev":                 {"/doc/", "/ref/", "/blog/", "/wiki/"},
	"docs.python.org":        {"/"},
	"peps.python.org":        {"/"},
	"packaging.python.org":   {"/"},
	"developer.mozilla.org":  {"/"},
	"nodejs.org":             {"/api/", "/docs/", "/en/"},
	"www.typescriptlang.org": {"/docs/"},
	"docs.deno.com":          {"/"},
	"doc.rust-lang.org":      {"/"},
	"docs.oracle.com":        {"/"},
	"kotlinlang.org":         {"/docs/"},
	"docs.swift.org":         {"/"},
	"docs.ruby-lang.org":     {"/"},
	"www.php.net":            {"/manual/"},
	"learn.microsoft.com": {
		"/en-us/aspnet/", "/en-us/azure/", "/en-us/cpp/", "/en-us/dotnet/", "/en-us/graph/", "/en-us/powershell/", "/en-us/sql/",
		"/en-us/windows/",
	},
	"docs.julialang.org":  {"/"},
	"hexdocs.pm":          {"/"},
	"perldoc.perl.org":    {"/"},
	"www.lua.org":         {"/manual/"},
	"ziglang.org":         {"/documentation/"},
	"docs.scala-lang.org": {"/"},

	// registries, as far as they show packages
	"pypi.org":      {"/project/"},
	"www.npmjs.com": {"/package/"},
	"crates.io":     {"/crates/"},
	"docs.rs":       {"/"},
	"packagist.org": {"/packages/"},
	"www.nuget.org": {"/packages/"},
	"hex.pm":        {"/packages/"},
	"pkg.go.dev":    nil, // see goModules

	// frameworks
	"react.dev":              {"/"},
	"vuejs.org":              {"/"},
	"angular.dev":            {"/"},
	"svelte.dev":             {"/docs/"},
	"nextjs.org":             {"/docs/"},
	"docs.djangoproject.com": {"/"},
	"guides.rubyonrails.org": {"/"},
	"api.rubyonrails.org":    {"/"},
	"docs.spring.io":         {"/"},
	"pytorch.org":            {"/docs/"},
	"www.tensorflow.org":     {"/api_docs/", "/guide/"},
	"numpy.org":              {"/doc/"},
	"pandas.pydata.org":      {"/docs/"},
	"docs.scipy.org":         {"/"},
	"scikit-learn.org":       {"/stable/"},
	"vite.dev":               {"/"},
	"tailwindcss.com":        {"/docs/"},
	"docs.pydantic.dev":      {"/"},
	"fastapi.tiangolo.com":   {"/"},

	// databases
	"www.postgresql.org":   {"/docs/"},
	"dev.mysql.com":        {"/doc/"},
	"mariadb.com":          {"/docs/"},
	"www.sqlite.org":       {"/docs.html", "/lang", "/c3ref/", "/pragma", "/json1", "/fts5", "/wal", "/datatype3"},
	"sqlite.org":           {"/docs.html", "/lang", "/c3ref/", "/pragma", "/json1", "/fts5", "/wal", "/datatype3"},
	"redis.io":             {"/docs/", "/commands/"},
	"www.mongodb.com":      {"/docs/"},
	"www.elastic.co":       {"/docs/", "/guide/"},
	"clickhouse.com":       {"/docs/"},
	"duckdb.org":           {"/docs/"},
	"kafka.apache.org":     {"/documentation/"},
	"cassandra.apache.org": {"/doc/"},

	// systems and clouds
	"kubernetes.io":           {"/docs/"},
	"helm.sh":                 {"/docs/"},
	"docs.docker.com":         {"/"},
	"docs.aws.amazon.com":     {"/"},
	"docs.cloud.google.com":   {"/"},
	"docs.github.com":         {"/"},
	"docs.gitlab.com":         {"/"},
	"developer.hashicorp.com": {"/"},
	"docs.ansible.com":        {"/"},
	"prometheus.io":           {"/docs/"},
	"grafana.com":             {"/docs/"},
	"opentelemetry.io":        {"/docs/"},
	"nginx.org":               {"/en/"},
	"httpd.apache.org":        {"/docs/"},
	"www.envoyproxy.io":       {"/docs/"},
	"docs.kernel.org":         {"/"},
	"man7.org":                {"/linux/man-pages/"},
	"git-scm.com":             {"/docs/", "/book/"},
	"cmake.org":               {"/cmake/help/"},
	"www.gnu.org":             {"/software/"},
	"www.freedesktop.org":     {"/software/"},
	"docs.redhat.com":         {"/"},
	"grpc.io":                 {"/docs/"},
	"protobuf.dev":            {"/"},

	// standards
	"www.rfc-editor.org":      {"/rfc/"},
	"datatracker.ietf.org":    {"/doc/"},
	"www.w3.org":              {"/TR/"},
	"html.spec.whatwg.org":    {"/"},
	"url.spec.whatwg.org":     {"/"},
	"fetch.spec.whatwg.org":   {"/"},
	"tc39.es":                 {"/ecma262/"},
	"spec.openapis.org":       {"/"},
	"json-schema.org":         {"/"},
	"yaml.org":                {"/spec/"},
	"semver.org":              {"/"},
	"modelcontextprotocol.io": {"/"},
	"unicode.org":             {"/reports/"},
	"www.unicode.org":         {"/reports/"},
}

// goModules are beginnings of the paths of Go packages whose source pkg.go.dev never asks a site of anybody for, beside
// those without a dot.
var goModules = []string{
	"golang.org/", "google.golang.org/", "github.com/", "gitlab.com/", "bitbucket.org/", "gopkg.in/", "k8s.io/",
	"sigs.k8s.io/", "cel.dev/", "go.uber.org/", "go.opentelemetry.io/", "cloud.google.com/",
}

// downloads are the ends of paths of archives, whose downloads sites count in public.
var downloads = []string{".gem", ".zip", ".tgz", ".gz", ".bz2", ".xz", ".zst", ".tar", ".whl", ".egg", ".crate", ".jar", ".nupkg", ".svg"}

// longestReference is how long the address of such a page may be.
const longestReference = 200

// IsReference reports whether a URL is that of a page of documentation or of a package, at a site whose publisher alone
// learns who reads it. It is false for a search there, for an address with a query, a fragment, a port or a name of a
// user, and for signs that such pages have not.
func IsReference(url string) bool {
	p, ok := sureURL(url)
	rest, secure := strings.CutPrefix(url, "https://")
	if !ok || !secure || len(url) > longestReference {
		return false
	}
	authority, path := cutAuthority(rest, "/?#")
	below, listed := references[p.Host]
	if !listed || !strings.EqualFold(authority, p.Host) || strings.ContainsFunc(path, isStrangeInPath) ||
		strings.Contains(path, "..") || strings.Contains(path, "//") {
		return false
	}
	page, _, _ := strings.Cut(strings.ToLower(path), "?")
	if slices.ContainsFunc(downloads, func(end string) bool { return strings.HasSuffix(strings.TrimSuffix(page, "/"), end) }) {
		return false
	}
	if p.Host == "pkg.go.dev" {
		return isGoPackage(strings.TrimPrefix(path, "/"))
	}
	return slices.ContainsFunc(below, func(b string) bool {
		return strings.HasPrefix(path, b) || path == strings.TrimSuffix(b, "/")
	})
}

// isStrangeInPath reports whether a sign is none of those in the addresses of documentation.
func isStrangeInPath(r rune) bool {
	isPlain := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	return !isPlain && !strings.ContainsRune("/._-~@+", r)
}

func isGoPackage(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	for _, begin := range goModules {
		if strings.HasPrefix(path, begin) {
			return true
		}
	}
	return first != "" && first != "search" && first != "fetch" && !strings.ContainsAny(first, ".@+~")
}
