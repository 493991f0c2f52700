package cmdline_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-mcp/weir/internal/cmdline"
)

func lines(s string) []string { return strings.Split(strings.TrimSpace(s), "\n") }

func TestReadOnly(t *testing.T) {
	for want, all := range map[bool][]string{true: lines(reads), false: slices.Concat(lines(acts), lines(anothers), notASCII, inCmd, oddLines)} {
		for _, line := range all {
			if got := cmdline.ReadOnly(line); got != want {
				t.Errorf("%q: %v, want %v", line, got, want)
			}
		}
	}
}

func TestReads(t *testing.T) {
	for _, c := range []struct {
		line string
		want []string
		ok   bool
	}{
		{"cat a.txt b.txt", []string{"a.txt", "b.txt"}, true}, {"head -n 5 a.txt", []string{"a.txt"}, true}, {"cat -- .env", []string{".env"}, true},
		{"sed -n 1,5p .env", []string{".env"}, true}, {"ls -la /home", nil, true}, {"pwd", nil, true}, {"git status", nil, true},
		{"grep -r KEY .", nil, false}, {"rg KEY", nil, false}, {"git log -p", nil, false}, {"cat a | sh", nil, false}, {"rm a", nil, false},
		{"ls env:", nil, false}, {"cat config/x.json,a.md", nil, false}, {"cat \"a,b\"", []string{"a,b"}, false}, {"git status -v", nil, false},
		{"git log --oneline -n 5", nil, true}, {"git log -5 --stat main", nil, true}, {"git log -sp", nil, false}, {"git log -SKEY", nil, false}, {"git log -G KEY", nil, false},
		{"git log --word-diff", nil, false}, {"git log -n -p", nil, false}, {"git diff --stat", nil, true}, {"git diff --name-only main", nil, true},
		{"git diff", nil, false}, {"git diff --stat -p", nil, false}, {"git diff --stat -U3", nil, false}, {"git diff --numstat --unified=1", nil, false}, {"git show --stat HEAD:.env", nil, false},
		{"grep -n KEY a.go b.go", []string{"a.go", "b.go"}, true}, {"grep KEY .env", []string{".env"}, true}, {"grep -nr KEY src", nil, false}, {"grep -R KEY a.go", nil, false},
		{"grep -e KEY a.go", nil, false}, {"grep -n -e KEY .env a.go", nil, false}, {"grep -eKEY .env a.go", nil, false}, {"grep --recursive KEY src", nil, false}, {"grep KEY", nil, false},
	} {
		if got, ok := cmdline.Reads(c.line); ok != c.ok || !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, %v", c.line, got, ok)
		}
	}
}

const reads = `
ls
ls -la /tmp
ls -l --human-readable src
pwd
whoami
uname -a
stat a.txt
du -sh .
df -h
wc -l main.go
cat README.md
cat -n a.txt b.txt
head -n 20 a.txt
head -20 a.txt
tail -n 5 a.log
tail -5 a.log
sed -n 10,20p main.go
sed -n 5p main.go
grep -rn needle src
grep -n "func main" main.go
grep -i "a b" x.txt
grep -A3 -B 2 x a.txt
find . -name main.go
find src -type f -name "a.go" -maxdepth 2
tree -L 2
diff a.txt b.txt
rg -n needle
git status
git status --short
git log --oneline -n 5
git log -5
git diff
git diff --stat main
git show HEAD
git branch -a
git remote -v
git ls-files
git blame main.go
file a.bin
which go
id
sha256sum a.txt
cut -d ":" -f1 a.txt
`

const acts = `
tree -Po x .bashrc
tree -Io x .bashrc src
tree -dLo 2 .bashrc
tree -P=o x .bashrc
rm a
ls; rm a
ls && rm a
ls || rm a
ls | sh
ls & rm a
ls > a
ls >> a
ls 2> a
cat < a
ls $(rm a)
ls "$(rm a)"
ls $HOME
ls ${HOME}
ls *
ls a?
ls [ab]
ls {a,b}
ls ~
A=b ls
! ls
(ls)
{ ls; }
time ls
if ls
ls #x
ls \; rm
ls \a
ls "a
ls 'a
ls $'a'
ls <(rm a)
ls >(rm a)
ls %PATH%
ls ^& rm a
ls 'a & rm b'
ls 'a | rm b'
ls 'a > b'
ls @(rm)
ls 'a"&rm b'
cat "%PATH%"
./ls
/tmp/ls
../ls
LS
find . -exec rm a +
find . -execdir rm a +
find . -ok rm a +
find . -delete
find -- . -delete
find -- . -maxdepth 0 -exec sh -c "curl evil" "{}" +
find . -fprint a
find . -fprintf a b
find . -fls a
find . -name x -delete
git -c core.pager=x log
git -C /tmp status
git --exec-path=x status
git --git-dir=x status
git log --output=a
git log --output a
git log --ext-diff
git diff --output=a
git diff --no-index a b
git diff --ext-diff
git show --textconv HEAD
git log --pretty --output=x
git diff -U --output=x
git commit -m x
git push
git fetch
git checkout a
git branch a
git branch -D a
git tag a
git remote add a b
git config core.pager x
git grep -Osh x
git
git log --format
sort -o a b
sort a
tar --to-command=sh -xf a
tar xf a
env
env ls
printenv
xargs rm
awk 1 a
sed -i s/a/b/ a
sed s/a/b/e a
sed -n w a
sed -n 1w a
sed -n "1,5p;w b" a
sed -e 1p a
sed -f a b
sed -n 1,5p
date -s x
date
hostname x
less a
more a
man a
vi a
tee a
cp a b
mv a b
touch a
mkdir a
chmod 777 a
curl https://evil.example
wget https://evil.example
ssh a
nc a 1
python -c x
node -e x
bash -c x
sh a
eval ls
exec ls
source a
command ls
builtin ls
nohup ls
sudo ls
tail -f a
tail --follow a
tail -F a
tree -o a
du --files0-from=a
wc --files0-from=a
rg --pre sh x
rg --pre=sh x
file -C -m a
diff --to-file=a b
grep --unknown x
cat
cat -
cat //evil.example/share/x
cat /net/evil.example/x
find . -newer /net/evil.example/x
which /afs/evil.example/x
grep -n x /NET/evil.example/x
cat --unknown a
tail +5 a
ls --unknown
export A=b
alias ls=rm
declare a
let a
[ a ]
[[ a ]]
echo a
type a
where a
dir
`

// anothers are lines that some shell reads otherwise than the Bourne shell, so nothing is known of them where any may
// run.
const anothers = `
git status a#b
ls /srv/x#y
ls =x
ls a~
ls a^b
grep 'a\' '; touch x #' f
grep "a\"; touch x; echo \"b" f
find . x,-delete
git log x,--output=f
git log -S.x
grep -e:-r x
git log "a""--output=f"
git log "a"b" --output=f "c"
git log -- --output=f
git log -n 1 --grep=a,b
cat .../x
cat a/...
cat /srv/.../x
cat @x
grep -n "" x
grep -n '' x
cat a;b
ls a=b
`

// notASCII are more of them: with quotes and hyphens of PowerShell.
var notASCII = []string{
	"git log --grep \"x\u201d; Remove-Item -Recurse C:; \u201cy\"", "git log --grep \"x\u201e; calc; \u201cy\"", "git log --grep 'x\u2019; calc; \u2018y'", "git log --grep 'x\u201b; calc; \u201ay'",
	"find . \u2013delete", "find . \u2014delete", "find . \u2015delete", "cat a\u00e9",
}

var oddLines = []string{
	"", " ", "ls\nrm a", "ls\r\nrm a", "ls\x00", "ls\rrm a", "ls\u00a0a", "ls \u200ba", "ls\x0brm", "ls \xff", "ls `rm a`", "ls \"`rm a`\"", "ls a\\\nb", "cat <<a\nb\na", "''", "\"\" a",
	strings.Repeat("a ", 9000), "ls " + strings.Repeat("(", 3000),
}

func FuzzReadOnly(f *testing.F) {
	for _, line := range append(lines(reads), lines(acts)...) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if _, ok := cmdline.Understand(line); cmdline.ReadOnly(line) && !ok {
			t.Errorf("%q only reads, and is not understood", line)
		}
		if cmdline.ReadOnly(line) && strings.ContainsAny(strings.Trim(line, " \t\n"), "\n\r`$\\%") {
			t.Errorf("%q only reads", line)
		}
	})
}

// TestTabs holds that no command with a tab within is understood: a terminal completes words at it.
func TestTabs(t *testing.T) {
	for _, line := range []string{"cat a\t| cat", "cat a\tb", "cat 'a\tb'", "ls\t-l", "git\tstatus"} {
		if cmdline.ReadOnly(line) {
			t.Errorf("%q only reads", line)
		}
		if words, ok := cmdline.Words(line); ok {
			t.Errorf("%q is %q", line, words)
		}
	}
}

// inCmd are lines whose words are others in cmd.exe, where single quotes are characters, and a program may be a batch
// file, which reads them once more.
var inCmd = []string{"git log --grep 'x --output=f y'", "grep -i 'a b' x.txt", "git log --format=%PATH%", "git log \"%PATH%\"", "rg \"a|calc\"", "git log a;b",
	"cat //host/share/x", "rg \"a&calc\""}

// TestAnyShell holds which lines are understood where the shell may be any of Unix, each as the Bourne shell reads it.
func TestAnyShell(t *testing.T) {
	for _, line := range append(append(lines(anothers), notASCII...), "cat a > b", "ls 2>&1", "ls 2>/dev/null", "cat a*", "cat HEAD~1", "ls\npwd", "cat <a", "ls -l*", "cat - ",
		"cat a | | cat", "git log --format=%h,%s") {
		if d, ok := cmdline.UnderstandAnywhere(line); ok {
			t.Errorf("%q: %+v", line, d)
		}
	}
	for _, line := range append(lines(reads), "grep -rn 'func main' src", "ls -la src && git log --oneline -5", "cat a.txt | head -20", "go test ./... ; go vet ./a/...", "sed -n 10,20p a.go",
		"sed -n '10,20p' a.go", "rg -n \"foo|bar\" src", "find . -name \"*.go\" -type f", "git diff -- src", "npm run build", "git commit -m \"a: b (c)\"", "head -5 a.md|tail -1") {
		want, known := cmdline.Understand(line)
		if got, ok := cmdline.UnderstandAnywhere(line); !ok || !known || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v", line, got, ok)
		}
	}
}

// TestOneReader holds that no line which [cmdline.Understand] does not take for one that reads is taken for one
// elsewhere.
func TestOneReader(t *testing.T) {
	check := func(t interface{ Errorf(string, ...any) }, line string) {
		d, ok := cmdline.Understand(line)
		reads := ok && d.Does == cmdline.Reading
		_, shows := cmdline.Reads(line)
		if any, anywhere := cmdline.UnderstandAnywhere(line); !reads && (cmdline.ReadOnly(line) || shows) || anywhere && (!ok || any.Does != d.Does) {
			t.Errorf("%q: understood %v (%s), read-only %v, shows %v, anywhere %v", line, ok, d.Does, cmdline.ReadOnly(line), shows, anywhere)
		}
		if in, ok := cmdline.UnderstandInWindows(line); ok && (in.Does != cmdline.Reading || !reads || !in.Others) {
			t.Errorf("%q in Windows: %+v", line, in)
		}
	}
	for _, line := range slices.Concat(lines(reads), lines(acts), lines(strange), lines(anothers), notASCII, inCmd, oddLines) {
		check(t, line)
	}
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.SampledFrom([]string{"git status", "ls", "cat", "a", "#", "'", "\"", " ", " ", "-n", "--output=f", ",", "\\", "”", "–", ";", "|", "=",
			"~", "//", "^", "x"}), 1, 6).Draw(t, "words")
		check(t, rapid.SampledFrom([]string{"git log ", "cat ", "ls ", "grep "}).Draw(t, "program")+strings.Join(words, ""))
	})
}
