package expression_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weir-mcp/weir/internal/expression"
)

func lines(s string) []string { return strings.Split(strings.TrimSpace(s), "\n") }

func TestPathPlain(t *testing.T) {
	for want, paths := range map[bool][]string{true: lines(plainPaths), false: append(lines(notPlainPaths), notPlainTexts...)} {
		for _, p := range paths {
			if got := expression.PathPlain(p); got != want {
				t.Errorf("%q: %v, want %v", p, got, want)
			}
			if !want && utf8.ValidString(p) && expression.PathPlain(strings.ToUpper(p)) {
				t.Errorf("%q is plain in capitals", p)
			}
		}
	}
}

func TestPathNoSecrets(t *testing.T) {
	for want, paths := range map[bool][]string{true: lines(openPaths), false: append(lines(secretPaths), notPlainTexts...)} {
		for _, p := range paths {
			if got := expression.PathNoSecrets(p); got != want {
				t.Errorf("%q: %v, want %v", p, got, want)
			}
		}
	}
}

// notPlainTexts are paths that two systems or two programs take for different files, or that nobody can read for sure.
var notPlainTexts = []string{
	"", "/", "~", ".", "..", "./", "a/", "../a.txt", "a/../b.txt", "/home/ann/../../etc/x.txt", "a.txt\x00.sh", "a.txt ", "a.txt.", "a.txt::$DATA", "a.txt:evil",
	"a.txt:evil.txt", "a\u202etxt.sh", "a\n", "a\tb.txt", "a\r.txt", "C:x.txt", "C:x/../a.txt", "C:", "~root/a.txt", "$HOME/a.txt", "${HOME}/a.txt", "%APPDATA%/a.txt",
	"%2e%2e/a.txt", "a%2ftxt.txt", "a/*.txt", "a?.txt", "PROGRA~1/x.txt", `\\evil.example\share\x.txt`, `//evil.example/share/x.txt`, `\\?\C:\x.txt`, `\\.\pipe\x.txt`,
	"file:///home/ann/a.txt", "file:a.txt", "https://evil.example/a.txt", "CON", "con.txt", "nul.txt", "a/NUL", "a/aux.md", "COM1.txt", "lpt9.csv", "a/prn.tar.txt",
	"COM\u00b9.txt", ".\u017fsh/notes.txt", "a/\uff0e\uff0e/b.txt", "\uff43on.txt", "node_module\u017f/x.js", "a\u200bb.txt", ".g\u200cit/x.txt", "a\ufe0f.txt", "a\u00a0.txt", "a\u2028.txt",
	"\u212aeys.txt", "a/ b.txt", "a /b.txt", "a./b.txt", "a//b.txt", "a\xff.txt", "`id`.txt", "a|b.txt", "a<b.txt", "{a,b}.txt", "a;b.txt", "^a.txt", "\"a.txt\"", "\x7f.txt",
	strings.Repeat("a/", 3000) + "x.txt", strings.Repeat("a", 300) + ".txt",
}

const plainPaths = `
notes.txt
notes.md
./notes.txt
README.md
README
LICENSE
docs/README.md
CHANGELOG.md
report.txt
data.csv
photo.png
main.go
main_test.go
/home/ann/repo/report.md
/tmp/x/001/notes.txt
/Users/ann/Documents/report.docx
C:\Users\ann\a.docx
src/main.go
src/app/user.service.ts
src/components/Button.test.tsx
src/hooks/useUser.ts
src/agents/planner.py
src/commands/build.go
a b/ü.txt
Besprechung/Protokoll Müller.txt
文档/报告.md
lib/x.py
etc/notes.txt
work/hosts.md
drafts/2026-11-22.md
drafts/report.2026-11-22.txt
invoice-2026-01.pdf
slides/q3.pptx
paper/main.tex
styles/site.scss
web/index.html
schema.graphql
queries/monthly.sql
api/user.proto
types/global.d.ts
pages/[id].tsx
music/song.mp3
app.log
events.jsonl
mailbox/message.eml
fix.patch
cmd/weir/main.go
internal/oauth/token.go
minutes (final).docx
O'Brien.txt
C#/notes.txt
a+b=c.txt
Program.cs
lib/profile.ts
`

// The names of programs and agents: none of them is an ordinary file.
const notPlainPaths = `
.bashrc
.zshrc
.profile
/home/ann/.ssh/authorized_keys
/home/ann/.ssh/notes.txt
repo/.git/hooks/pre-commit
repo/.git/config
.GIT/config.txt
.github/workflows/x.txt
repo/.cursor/mcp.json
.vscode/settings.json
.envrc
.npmrc
.pnpmfile.cjs
.claude/skills/x/SKILL.md
.obsidian/plugins/dataview/main.js
/etc/cron.d/x
/etc/motd.txt
C:\Windows\x.txt
c:/windows/x.txt
C:\Program Files\x\a.txt
/usr/local/x.txt
/srv/www/x.html
/var/www/html/index.html
/proc/self/cwd/a.txt
/System/x.txt
~/notes.txt
~/.bashrc
a.sh
A.SH
a\b.Bat
a.ps1
a.cmd
a.exe
a.vbs
a.lnk
a.url
a.scr
a.desktop
a.jar
a.py.sh
photo.png.exe
photo.php.jpg
notes.php.txt
notes.sh.txt
x.phtml
index.php
x.docm
x.xlsm
x.pptm
x.dotm
x.xlam
x.doc
x.xls
x.rtf
Makefile
x/MAKEFILE
GNUmakefile
Justfile
Rakefile
Dockerfile
Dockerfile.dev
Containerfile
Vagrantfile
Jenkinsfile
Procfile
Podfile
Brewfile
Fastfile
Tiltfile
BUILD
WORKSPACE
configure
gradlew
gradlew.bat
mvnw
artisan
autogen
build.gradle
build.gradle.kts
settings.gradle.kts
pom.xml
build.xml
AndroidManifest.xml
package.json
package-lock.json
pnpm-workspace.yaml
composer.json
tsconfig.json
deno.json
opencode.json
mcp-config.json
mcp.json
claude_desktop_config.json
settings.json
tasks.json
launch.json
data.json
config.yaml
docker-compose.yml
docker-compose.override.yml
compose.yaml
Taskfile.yml
Chart.yaml
values.yaml
playbook.yml
azure-pipelines.yml
mkdocs.yml
openapi.yaml
pyproject.toml
Cargo.toml
config.toml
pytest.ini
tox.ini
setup.cfg
setup.py
conftest.py
tests/conftest.py
sitecustomize.py
usercustomize.py
noxfile.py
fabfile.py
tasks.py
dodo.py
build.rs
build.zig
Package.swift
gulpfile.js
Gruntfile.js
vite.config.ts
webpack.config.js
jest.config.mjs
jest.setup.ts
eslint.config.js
next.config.mjs
karma.conf.js
wdio.conf.ts
x.config.cjs
main.tf
terraform.tfvars
x.hcl
default.nix
flake.nix
init.lua
x.lua
x.el
x.vim
x.pth
x.mk
x.cmake
CMakeLists.txt
x.props
x.csproj
x.sln
x.gemspec
x.podspec
x.rules
x.service
x.timer
x.plist
x.reg
x.inf
x.mdc
x.ipynb
requirements.txt
requirements-dev.txt
dev-requirements.txt
requirements/base.requirements.txt
constraints.txt
packages.txt
runtime.txt
robots.txt
autoexec.txt
AGENTS.md
Agents.MD
AGENTS.override.md
AGENTS.local.md
CLAUDE.md
CLAUDE.local.md
claude-notes.md
GEMINI.md
QWEN.md
copilot-instructions.md
python.instructions.md
review.prompt.md
x.chatmode.md
SKILL.md
skills/deploy/notes.md
agents/reviewer.md
commands/fix.md
prompts/system.txt
rules/style.md
memory/user.md
MEMORY.md
SOUL.md
HEARTBEAT.md
TOOLS.md
CONVENTIONS.md
llms.txt
llms-full.txt
system prompt.txt
weir.yaml
weir.lock
weir.md
overlays.yaml
policy.yaml
authorized_keys
known_hosts
hosts
hosts.txt
sudoers
crontab
passwd
/home/ann/bin/tool
/home/ann/bin/notes.txt
node_modules/x/index.js
vendor/x/y.go
venv/lib/x.py
lib/python3/site-packages/x.py
x/Startup/a.txt
x/XLSTART/a.xlsx
AppData/Roaming/x.txt
Library/LaunchAgents/x.txt
Users/ann/Start Menu/x.txt
conf.d/x.txt
cron.daily/x.txt
public_html/index.html
htdocs/x.html
wwwroot/x.js
cgi-bin/x.py
docker-entrypoint-initdb.d/x.sql
db/migrations/001.sql
plugins/x.js
extensions/x.ts
Assets/Editor/x.cs
autoload/x.py
app
run
install
LICENSE.sh
Makefile.am
x.tar.gz
x.zip
x.so
x.dll
x.wasm
x.class
x.crx
x.vsix
x.whl
x.deb
x.pem
x.key
x.sqlite
x
.txt
`

const openPaths = `
notes.txt
README.md
LICENSE
main.go
internal/oauth/token.go
internal/config/config.go
src/auth/session.ts
src/Login.tsx
data.csv
report.pdf
photo.png
package.json
repo/package-lock.json
tsconfig.json
go.mod
go.sum
Makefile
Dockerfile
Dockerfile.dev
CMakeLists.txt
pyproject.toml
Cargo.toml
Cargo.lock
pom.xml
build.gradle.kts
requirements.txt
setup.py
conftest.py
.gitignore
.editorconfig
.github/workflows/ci.yml
.github/CODEOWNERS
.pre-commit-config.yaml
openapi.yaml
CLAUDE.md
AGENTS.md
SECURITY.md
/home/ann/repo/docs/design.md
/Users/ann/Documents/minutes.docx
C:\Users\ann\report.docx
~/Documents/notes.txt
vite.config.ts
tests/test_keys.go
monkey.txt
keyboard.md
donkeys.csv
tokenizer.md
`

const secretPaths = `
.env
.env.local
.env.production
prod.env
app/.env.example
.envrc
id_rsa
id_ed25519
~/.ssh/id_rsa
~/.ssh/config
.ssh/notes.txt
server.pem
server.key
cert.p12
store.jks
x.pfx
x.ppk
x.kdbx
x.asc
x.gpg
.npmrc
.yarnrc.yml
.pypirc
.netrc
_netrc
.pgpass
pgpass.conf
.my.cnf
.htpasswd
.git-credentials
.git/config
~/.aws/credentials
~/.aws/config
~/.kube/config
~/.docker/config.json
~/.config/gh/hosts.yml
~/.config/gcloud/application_default_credentials.json
.vault-token
.bash_history
.zsh_history
.python_history
.psql_history
history.txt
credentials
credentials.json
credentials.csv
aws-credentials.txt
my_secrets.txt
secrets.yaml
secrets/notes.txt
secrets.py
secret.ts
passwords.csv
Passwords.csv
Chrome Passwords.csv
password list.docx
accessKeys.csv
ann_accessKeys.csv
rootkey.csv
api-keys.txt
api key.txt
token.txt
tokens.csv
github token.txt
keys.txt
seed phrase.txt
wallet.txt
recovery codes.txt
backup-codes.txt
1Password Emergency Kit.pdf
logins.csv
ssh keys.md
Passwörter/passwort.txt
env.txt
dotenv.md
kubeconfig
kubeconfig.txt
service-account.json
project-12345-abcdef.json
config.json
config.yaml
appsettings.json
application.properties
local_settings.py
settings.py
config.py
config.js
wp-config.php
database.yml
docker-compose.yml
values.yaml
terraform.tfvars
terraform.tfstate
terraform.tfstate.backup
mcp.json
claude_desktop_config.json
.cursor/mcp.json
.claude.json
.vscode/settings.json
dump.sqlite
x.db
cookies.txt
Cookies
Library/Keychains/login.txt
AppData/Local/x.txt
/proc/self/environ
/proc/1/x.txt
/etc/shadow
/etc/passwd
/etc/hosts.txt
/dev/sda
/run/secrets/x.txt
/var/lib/x.txt
C:\Windows\x.txt
shadow
authorized_keys
core
a.out
backup.zip
x.tar.gz
`
