package home

import (
	"runtime"
	"slices"
	"strings"
)

// inherited are the variables that servers of weir run get from weir's own environment; all others could be the
// secrets of another server.
var inherited = slices.Concat(
	[]string{"HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER",
		"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"},
	proxyVariables, CertificateVariables, windowsVariables)

// proxyVariables say how programs reach the network. Programs differ in the case of their names.
var proxyVariables = []string{"ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "all_proxy", "https_proxy", "http_proxy", "no_proxy",
	"npm_config_https_proxy", "npm_config_noproxy", "npm_config_proxy"}

// CertificateVariables name files or folders of certificate authorities, in OpenSSL, Node.js, npm, Python and git.
var CertificateVariables = []string{"CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "NODE_EXTRA_CA_CERTS", "PIP_CERT", "REQUESTS_CA_BUNDLE",
	"SSL_CERT_DIR", "SSL_CERT_FILE", "npm_config_cafile"}

// windowsVariables are those without which programs on Windows do not start, or do not find their files.
var windowsVariables = []string{"ALLUSERSPROFILE", "APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "NUMBER_OF_PROCESSORS", "OS",
	"PATHEXT", "PROCESSOR_ARCHITECTURE", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP",
	"USERNAME", "USERPROFILE", "WINDIR"}

// BaseEnv returns the variables that servers of weir run inherit.
func (e *Env) BaseEnv() []string {
	same := func(a, b string) bool { return a == b }
	if runtime.GOOS == "windows" {
		same = strings.EqualFold // as its environment has it
	}
	return slices.DeleteFunc(slices.Clone(e.Environ), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		known := slices.ContainsFunc(inherited, func(n string) bool { return same(n, name) })
		return !known && !strings.HasPrefix(name, "LC_")
	})
}
